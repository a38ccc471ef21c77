"""Every row, by family."""

from tests.attacks.families import (
    escape,
    kill,
    links,
    machinery,
    network,
    packages,
    resources,
    secrets,
    tenants,
)
from tests.attacks.row import Row

ROWS: tuple[Row, ...] = (
    *escape.ROWS,
    *secrets.ROWS,
    *network.ROWS,
    *resources.ROWS,
    *links.ROWS,
    *kill.ROWS,
    *tenants.ROWS,
    *packages.ROWS,
    *machinery.ROWS,
)
BY_NAME = {row.name: row for row in ROWS}
