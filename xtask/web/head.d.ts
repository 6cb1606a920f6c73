/** The module: an address, a response, or its bytes. The default is the file next to the imported script. */
export type ModuleSource = RequestInfo | URL | Response | BufferSource | WebAssembly.Module;

/** Loads the module. Await it before you call anything else. */
export default function init(
  source?: { module_or_path: ModuleSource | Promise<ModuleSource> },
): Promise<unknown>;

/** Loads the module from its bytes synchronously, for example in Node. */
export function initSync(source: { module: BufferSource | WebAssembly.Module }): unknown;

/** Returns the version of the library. */
export function version(): string;

/** Returns the number of threads that share the work: 1, or as many as `initThreadPool` of `thalweg/threads` made. */
export function threads(): number;

/**
 * Sets the memory limit of all later work. The default is 1 GiB. Work that needs more is refused before it begins.
 *
 * @param bytes The limit in bytes, 0 to 4294967296.
 */
export function allowMemory(bytes: number): void;

/** The name of a model. */
export type ModelName = keyof Parameters;

/** Numbers, row by row from the north. */
export type Numbers =
  | Float64Array
  | Float32Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | number[];

/** An elevation model from which a `Terrain` is created. */
export type Land = LandGrid &
  (
    | {
        /** Elevations in metres, row by row from the north; NaN for a no-data cell. */
        height: Numbers;
      }
    | {
        /** @deprecated The earlier name of `height`. */
        heights: Numbers;
      }
  );

/** An elevation model without its elevations. */
export interface LandGrid {
  /** Number of rows. */
  rows: number;
  /** Number of columns. */
  cols: number;
  /** Side of a cell in metres. */
  cellSize: number;
  /** A value of `height` that marks a no-data cell, in addition to NaN. */
  nodata?: number;
  /** Sea level in metres. The default is no sea. */
  seaLevel?: number;
  /** Boundary condition for water and sediment at the four sides. The default is "open". */
  edges?: "open" | "closed" | "looped";
  /** Further layers by name, for example `hardness`; each has as many values as `height`. */
  layers?: Record<string, Numbers>;
}

/** A terrain: elevations, layers, and the recipe and report of the run that made it, if any. It is immutable. */
export class Terrain {
  /** Creates a terrain from an elevation model. */
  constructor(land: Land);
  /** Number of rows. */
  readonly rows: number;
  /** Number of columns. */
  readonly cols: number;
  /** Side of a cell in metres. */
  readonly cellSize: number;
  /** Row and column in the world of the first cell. */
  readonly origin: Float64Array;
  /** Sea level in metres; undefined if there is no sea. */
  readonly seaLevel: number | undefined;
  /** Number of no-data cells. */
  readonly nodataCount: number;
  /** Lowest and highest elevation in metres; undefined if no cell has data. */
  readonly range: Float64Array | undefined;
  /** Names of the layers. */
  readonly layers: string[];
  /** The recipe of the run that made the terrain, as TOML with every parameter. */
  readonly recipe: string | undefined;
  /** The report of the run that made the terrain (docs/report.schema.json). */
  readonly report: Record<string, unknown> | undefined;
  /** Returns the exact elevations in metres; NaN in no-data cells. */
  height(): Float64Array;
  /** @deprecated The earlier name of `height`. */
  heights(): Float64Array;
  /** Returns the elevations in metres, rounded to 24 bits, for example for a GPU; NaN in no-data cells. */
  heightF32(): Float32Array;
  /** @deprecated The earlier name of `heightF32`. */
  heightsF32(): Float32Array;
  /**
   * Returns the values of a layer: heights and depths as Float64Array, real numbers as Float32Array, counts as
   * Uint32Array.
   */
  layer(name: string): Float64Array | Float32Array | Uint32Array;
  /** Returns the fingerprint of each layer and table, as in the command's reports. */
  fingerprints(): Record<string, string>;
  /** Frees the memory at once. Otherwise it is freed when nothing refers to the terrain any more. */
  free(): void;
  [Symbol.dispose](): void;
}

/** The progress of a run after a step. */
export interface Progress {
  /** Label of the current stage. */
  label: string;
  /** @deprecated The earlier name of `label`. */
  stage: string;
  /** The current level, where 0 is the coarsest, and the number of levels. */
  level: number;
  levels: number;
  /** Steps of the stage on this level: those that are done, and their total number. */
  step: number;
  steps: number;
  /** Steps of the run: those that are done, and their total number. */
  done: number;
  total: number;
  /** @deprecated The earlier name of `total`. */
  of: number;
}

/**
 * Builds the world of a preset or of a recipe (TOML). The result has the same bits as that of the command.
 *
 * @throws Error with the library's message.
 */
export function build(
  recipe: PresetName | (string & {}),
  options?: BuildOptions & {
    /** Receives the progress after every step; if it returns false, the run ends with an error. */
    progress?: (progress: Progress) => boolean | void;
  },
): Terrain;

/**
 * Runs one model on a terrain and returns the result.
 *
 * @param parameters Parameters of the model. A parameter that is left out has its default.
 * @throws Error with the library's message.
 */
export function apply<M extends ModelName>(
  model: M,
  terrain: Terrain,
  parameters?: Parameters[M],
  options?: Omit<ApplyOptions, "parameters" | "set"> & {
    /** Receives the progress after every step; if it returns false, the run ends with an error. */
    progress?: (progress: Progress) => boolean | void;
  },
): Terrain;

/** A channel reach: the part of a stream between two junctions. */
export interface Reach {
  /** Number of the reach, from 0. */
  id: number;
  /** Strahler's order. */
  order: number;
  /** Shreve's magnitude: the number of sources upstream. */
  magnitude: number;
  /** Length in metres. */
  length: number;
  /** Height of its first cell above its last, in metres. */
  drop: number;
  /** Drop divided by length. */
  slope: number;
  /** Drainage area in m² at its lower end. */
  drainageArea: number;
  /** Number of the reach downstream; null at an outlet. */
  downstream: number | null;
  /** Its cells, downstream: the row and the column of the first cell, then those of the second, and so on. */
  cells: Uint32Array;
}

/** The drainage of a terrain; arrays are row by row from the north. */
export interface Drainage {
  /** Heights with depressions filled, in metres. */
  filled: Float64Array;
  /** Depth of the filled depressions, in metres. */
  lakeDepth: Float64Array;
  /** Depth of carved channels in metres, if `breach` was given. */
  cut?: Float64Array;
  /**
   * D8 flow direction as an ESRI code: 1 east, 2 south-east, clockwise to 128 north-east; 0 where water leaves, 255
   * without data.
   */
  flowDirection: Uint8Array;
  /** D∞ direction of steepest descent in radians counter-clockwise from the east; below 0 where there is none. */
  flowAngle: Float32Array;
  /** @deprecated The earlier name of `flowAngle`. */
  angles: Float32Array;
  /** Number of cells upstream of each cell by D8, the cell included. */
  cells: Uint32Array;
  /** Drainage area in m², by the method of the options. */
  drainageArea: Float64Array;
  /** Number of the basin, from 1; 0 without data. */
  basin: Uint32Array;
  /** @deprecated The earlier name of `basin`. */
  basins: Uint32Array;
  /** Strahler's order of the stream; 0 where there is none. */
  streamOrder: Uint32Array;
  /** @deprecated The earlier name of `streamOrder`. */
  orders: Uint32Array;
  /** The channel reaches. */
  reaches: Reach[];
  /** Summary figures, as in the command's drain.json. */
  summary: Record<string, unknown>;
}

/** Computes the drainage of a terrain. */
export function drain(
  terrain: Terrain,
  options?: DrainOptions & {
    /** Receives the name of each task when it begins; false ends the call with an error. */
    progress?: (task: string) => boolean | void;
  },
): Drainage;

/** The textures of a terrain, as arrays with one entry or more per sample, row by row from the north. */
export interface Textures {
  rows: number;
  cols: number;
  /** Distance between two samples in metres. */
  cellSize: number;
  /** The materials of `weights`, in order. */
  materials: Material[];
  /** The sum of the weights of a sample: 255 or 65535. The sum is 0 in samples without data. */
  full: number;
  /** The weight of each material, sample by sample. */
  weights: Uint8Array | Uint16Array;
  /** Unlit colour: red, green and blue (sRGB), and 255. */
  albedo: Uint8ClampedArray;
  /** Roughness, 0 (smooth) to 1 (rough). */
  roughness: Float32Array;
  /** Visible share of the sky, 0 to 1. */
  occlusion: Float32Array;
  /** Mean curvature in 1/m, positive on crests. */
  curvature: Float32Array;
  /** Flow direction as a unit vector (east, south), and flow speed in m/s. */
  flow: Float32Array;
  /** Sediment thickness in metres, if the terrain has sediment. */
  deposit?: Float32Array;
}

/** Computes the textures of a terrain by the rules of its recipe, or by the default rules if it has none. */
export function textures(terrain: Terrain, options?: TexturesOptions): Textures;

/** The progress of a tile. */
export interface TileProgress {
  /** Name of the current task. */
  label: string;
  /** Parts of the task: those that are done, and their total number. */
  done: number;
  total: number;
  /** @deprecated The earlier name of `label`. */
  stage: string;
  /** @deprecated The earlier name of `total`. */
  of: number;
}

/** A world of any size. A tile of any level is computed on request; its bits do not depend on the order of requests. */
export class World {
  /** Opens the world of a preset or of a recipe (TOML). */
  constructor(recipe: PresetName | (string & {}), options?: WorldOptions);
  /** The first and the last zoom of a web map of the world. */
  readonly zooms: Uint32Array;
  /** Returns the side of a level's cells in metres. */
  cellSize(level: number): number;
  /** @deprecated The earlier name of `cellSize`. */
  width(level: number): number;
  /** Returns four numbers: the first row and column of a level, and the row and column after its last. */
  bounds(level: number): Float64Array;
  /**
   * Computes the tile of a level that contains a position: `x` metres to the east and `y` metres to the south. If
   * `progress` returns false, the call ends with an error.
   */
  tile(
    level: number,
    x: number,
    y: number,
    progress?: (progress: TileProgress) => boolean | void,
  ): Terrain;
  /** Returns the elevation in metres at a position; `x` and `y` as for `tile`. */
  heightAt(level: number, x: number, y: number): number;
  /**
   * Returns the description of the tiles for web maps (TileJSON 3); `base` is the address of the tiles, without a final
   * slash.
   */
  describe(base: string): Record<string, unknown>;
  /**
   * Returns a tile of the web map (EPSG:3857, 256 pixels) as a PNG: elevations in Mapbox's encoding,
   * −10000 m + 0.1 m · (65536 R + 256 G + B), which is the default, or in Terrarium's, or a hillshade. Returns
   * undefined if there is no such tile.
   */
  png(
    zoom: number,
    column: number,
    row: number,
    encoding?: "terrain-rgb" | "terrarium" | "hillshade",
  ): Uint8Array<ArrayBuffer> | undefined;
  /** Frees the memory at once. Otherwise it is freed when nothing refers to the world any more. */
  free(): void;
  [Symbol.dispose](): void;
}

/** A recipe that comes with the library. */
export interface Preset {
  name: PresetName;
  /** A paragraph that describes the landform. */
  about: string;
  /** Number of cells on the longer side. */
  cells: number;
  /** The text of the recipe (TOML). */
  recipe: string;
}

/** Returns the presets; `build` accepts their names. The first is a good start. */
export function presets(): Preset[];

/** A layer that a model needs, uses or writes. */
export interface LayerSpec {
  name: string;
  unit: string;
  meaning: string;
}

/** The declaration of a model. */
export interface ModelPage {
  name: ModelName;
  summary: string;
  /** The text of the model's page: the process, its formula, its source and its limits. */
  page: string;
  source: string;
  family: "base" | "erosion" | "analysis";
  parameters: {
    name: string;
    meaning: string;
    unit: string;
    allowed: string;
    type: "number" | "boolean" | "string";
    default: number | boolean | string;
    words: string[];
    source: string;
  }[];
  /** Layers that the model needs. */
  needs: LayerSpec[];
  /** Layers that the model uses if they are present. */
  uses: LayerSpec[];
  /** Layers that the model writes. */
  writes: LayerSpec[];
}

/** Returns the declarations of all models. */
export function models(): ModelPage[];
