"""Run by the Python that QGIS is installed for: `in_qgis.py RASTERS-AND-LINES OUT.json`, paths separated by commas; says what QGIS reads."""

import json
import os
import sys

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")

from qgis.core import QgsApplication, QgsPointXY, QgsRasterLayer, QgsUnitTypes, QgsVectorLayer  # noqa: E402

application = QgsApplication([], False)
application.initQgis()


def raster(path):
    layer = QgsRasterLayer(path, "layer")
    data = layer.dataProvider()
    extent = layer.extent()
    width, height = layer.width(), layer.height()
    values = []
    for k in range(20):
        # The middles of cells all over the map.
        j, i = (k * 7919) % width, (k * 104729) % height
        x = extent.xMinimum() + (j + 0.5) * extent.width() / width
        y = extent.yMaximum() - (i + 0.5) * extent.height() / height
        value, known = data.sample(QgsPointXY(x, y), 1)
        values.append([i, j, value if known else None])
    return {
        "valid": layer.isValid(),
        "crs": layer.crs().authid(),
        "size": [width, height],
        "extent": [extent.xMinimum(), extent.yMinimum(), extent.xMaximum(), extent.yMaximum()],
        "band": data.generateBandName(1),
        "style": layer.renderer().type(),
        "values": values,
    }


def lines(path):
    layer = QgsVectorLayer(path, "layer", "ogr")
    extent = layer.extent()
    return {
        "valid": layer.isValid(),
        "crs": layer.crs().authid(),
        "unit": QgsUnitTypes.toString(layer.crs().mapUnits()) if layer.crs().isValid() else None,
        "count": layer.featureCount(),
        "fields": [field.name() for field in layer.fields()],
        "broken": sum(not feature.geometry().isGeosValid() for feature in layer.getFeatures()),
        "extent": [extent.xMinimum(), extent.yMinimum(), extent.xMaximum(), extent.yMaximum()],
    }


paths, out = sys.argv[1:]
said = {path: (raster if path.endswith(".tif") else lines)(path) for path in paths.split(",")}
with open(out, "w", encoding="utf-8") as file:
    json.dump(said, file)
