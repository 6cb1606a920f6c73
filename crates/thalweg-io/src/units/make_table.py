"""Writes epsg.tsv: coordinate reference systems whose unit of length is not the metre, units of length, and the
ellipsoids of geographic systems.

    python crates/thalweg-io/src/units/make_table.py [proj.db]

Facts are taken from the PROJ database, which comes with rasterio from PyPI. Lines are sorted; their columns are

    e  code  semi-major axis  inverse flattening   an ellipsoid, in metres; 0 for a sphere
    g  code  ellipsoid  unit                       a geographic system; "-" where the unit is the degree
    u  code  metres  name                          a unit
    c  code  horizontal unit  vertical unit  name  a projected, vertical or compound system; "-" where the unit is
                                                   the metre or there is none, "~" for a Mercator whose metres are
                                                   not the ground's
"""

import sqlite3
import sys
from pathlib import Path

METRE = 9001
DEGREES = {9102, 9122}  # the degree, and the degree of which the representation is left to the supplier
KEYS = 65536  # GeoTIFF's keys hold 16 bits
WEB_MERCATOR = "1024"  # "Popular Visualisation Pseudo Mercator"
WORLD_MERCATORS = {3395}  # true to scale at the equator, used all over the world


def database():
    if len(sys.argv) > 1:
        return Path(sys.argv[1])
    import rasterio

    return Path(rasterio.__file__).parent / "proj_data" / "proj.db"


def numbers(rows):
    return {int(code): rest for code, *rest in rows if str(code).isdigit() and int(code) < KEYS}


def geographic_lines(db):
    systems = numbers(
        db.execute(
            "select crs.code, datum.ellipsoid_code, axis.uom_code from geodetic_crs crs join geodetic_datum datum on"
            " datum.code = crs.datum_code and datum.auth_name = crs.datum_auth_name join axis on"
            " axis.coordinate_system_auth_name = crs.coordinate_system_auth_name and"
            " axis.coordinate_system_code = crs.coordinate_system_code and axis.coordinate_system_order = 1"
            " where crs.auth_name = 'EPSG' and crs.type like 'geographic%' and datum.ellipsoid_auth_name = 'EPSG'"
        )
    )
    ellipsoids = numbers(
        db.execute(
            "select e.code, semi_major_axis * conv_factor, inv_flattening,"
            " case when semi_minor_axis = semi_major_axis then 0 else"
            " semi_major_axis / (semi_major_axis - semi_minor_axis) end from ellipsoid e join unit_of_measure u on"
            " u.code = e.uom_code and u.auth_name = e.uom_auth_name where e.auth_name = 'EPSG'"
        )
    )
    used = {int(ellipsoid) for ellipsoid, _ in systems.values()}
    for code, (axis, inverse, of_axes) in sorted(ellipsoids.items()):
        if code in used:
            yield f"e\t{code}\t{axis!r}\t{of_axes if inverse is None else inverse!r}"
    for code, (ellipsoid, unit) in sorted(systems.items()):
        if int(ellipsoid) in ellipsoids:
            yield f"g\t{code}\t{ellipsoid}\t{'-' if int(unit) in DEGREES else unit}"


def lines(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    units = numbers(
        db.execute(
            "select code, conv_factor, name from unit_of_measure where auth_name = 'EPSG' and type = 'length'"
            " and name not like '% per %' and name not like 'Bin width%'"
        )
    )
    axis = (
        "select crs.code, axis.uom_code, crs.name from {} crs join axis on"
        " axis.coordinate_system_auth_name = crs.coordinate_system_auth_name and"
        " axis.coordinate_system_code = crs.coordinate_system_code and axis.coordinate_system_order = 1"
        " where crs.auth_name = 'EPSG' and axis.uom_auth_name = 'EPSG'"
    )
    projected = numbers(db.execute(axis.format("projected_crs")))
    vertical = numbers(db.execute(axis.format("vertical_crs")))
    mercators = WORLD_MERCATORS | set(
        numbers(
            db.execute(
                "select crs.code, 0 from projected_crs crs join conversion on conversion.code = crs.conversion_code and"
                " conversion.auth_name = crs.conversion_auth_name where crs.auth_name = 'EPSG' and method_code = ?",
                (WEB_MERCATOR,),
            )
        )
    )
    compound = numbers(
        db.execute(
            "select code, horiz_crs_code, vertical_crs_code, name from compound_crs where auth_name = 'EPSG'"
            " and horiz_crs_auth_name = 'EPSG' and vertical_crs_auth_name = 'EPSG'"
        )
    )

    def unit(table, code):
        found = table.get(int(code))
        return "-" if found is None or int(found[0]) == METRE else str(found[0])

    def horizontal(code):
        return "~" if int(code) in mercators else unit(projected, code)

    found = {}
    for code, (_, name) in projected.items():
        found[code] = (horizontal(code), "-", name)
    for code, (_, name) in vertical.items():
        found[code] = ("-", unit(vertical, code), name)
    for code, (flat, high, name) in compound.items():
        found[code] = (horizontal(flat), unit(vertical, high), name)
    for code, (flat, high, name) in sorted(found.items()):
        if (flat, high) != ("-", "-"):
            yield f"c\t{code}\t{flat}\t{high}\t{name}"
    yield from geographic_lines(db)
    for code, (metres, name) in sorted(units.items()):
        yield f"u\t{code}\t{metres!r}\t{name}"


if __name__ == "__main__":
    target = Path(__file__).with_name("epsg.tsv")
    target.write_text("".join(f"{line}\n" for line in lines(database())), encoding="utf-8")
    print(f"{target}: {len(target.read_text(encoding='utf-8').splitlines())} lines")
