/** Where the module is: an address, a response, or its bytes. Left out, it lies beside this file. */
export type ModuleSource = RequestInfo | URL | Response | BufferSource | WebAssembly.Module;

/** Loads the module; all else waits for that. */
export default function init(
  source?: { module_or_path: ModuleSource | Promise<ModuleSource> },
): Promise<unknown>;

/** Loads the module from its bytes at once, as Node does. */
export function initSync(source: { module: BufferSource | WebAssembly.Module }): unknown;

/** Version of the library. */
export function version(): string;

/** Threads that share the work: 1, or as many as `initThreadPool` of `thalweg/threads` made. */
export function threads(): number;

/**
 * Lets work take so many bytes of memory from now on; 1 GiB if never said. What would take more is refused before it begins.
 *
 * @param bytes 0 to 4294967296.
 */
export function allowMemory(bytes: number): void;

/** Name of a model. */
export type ModelName = keyof Parameters;

/** Numbers row by row from the north. */
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

/** Ground of one's own. */
export interface Land {
  /** Metres, row by row from the north; NaN is no data. */
  heights: Numbers;
  /** Rows. */
  rows: number;
  /** Columns. */
  cols: number;
  /** Metres from cell to cell. */
  cellSize: number;
  /** A height that means no data. */
  nodata?: number;
  /** Sea level in metres. */
  seaLevel?: number;
  /** What becomes of water and sediment at the edges. */
  edges?: "open" | "closed" | "looped";
  /** Layers by name, such as `hardness`. */
  layers?: Record<string, Numbers>;
}

/** A terrain: heights, layers, and what is known of how it was made. It does not change. */
export class Terrain {
  /** A terrain over heights of one's own. */
  constructor(land: Land);
  /** Rows. */
  readonly rows: number;
  /** Columns. */
  readonly cols: number;
  /** Metres from cell to cell. */
  readonly cellSize: number;
  /** World row and column of the first cell. */
  readonly origin: Float64Array;
  /** Sea level in metres. */
  readonly seaLevel: number | undefined;
  /** Number of cells without data. */
  readonly nodataCount: number;
  /** Lowest and highest ground in metres. */
  readonly range: Float64Array | undefined;
  /** Names of the layers. */
  readonly layers: string[];
  /** The recipe that it was made by, as TOML, every parameter spelt out. */
  readonly recipe: string | undefined;
  /** The report of the run that made it (docs/report.schema.json). */
  readonly report: Record<string, unknown> | undefined;
  /** Heights in metres, exact; NaN where there is no data. */
  heights(): Float64Array;
  /** Heights in metres, rounded to 24 bits, as a GPU takes them. */
  heightsF32(): Float32Array;
  /** The values of a layer: heights and depths as Float64Array, reals as Float32Array, counts as Uint32Array. */
  layer(name: string): Float64Array | Float32Array | Uint32Array;
  /** Fingerprint of each layer and table: the command's reports have the same. */
  fingerprints(): Record<string, string>;
  /** Gives its memory back at once; left out, that is done when nothing holds it. */
  free(): void;
  [Symbol.dispose](): void;
}

/** Where a run stands after a step. */
export interface Progress {
  /** Label of the stage. */
  stage: string;
  /** The level, and how many there are. */
  level: number;
  levels: number;
  /** Step of the stage on this level, and how many it takes there. */
  step: number;
  steps: number;
  /** Steps done of all. */
  done: number;
  of: number;
}

/** Options of `build`. */
export interface BuildOptions {
  /** Cells on the long side. */
  cells?: number;
  /** The world's seed; a BigInt beyond 2^53. */
  seed?: number | bigint;
  /** Label of the last stage that is run. */
  until?: string;
  /** Parameters of stages, by label and name. */
  set?: Record<string, Record<string, number | boolean | string>>;
  /** Is told every step; false ends the run with an error. */
  progress?: (progress: Progress) => boolean | void;
}

/**
 * Builds the world of a preset or of a recipe (TOML): the bits that the command has.
 *
 * @throws Error with the library's sentence.
 */
export function build(recipe: PresetName | (string & {}), options?: BuildOptions): Terrain;

/** Runs one model over a terrain. */
export function apply<M extends ModelName>(
  model: M,
  terrain: Terrain,
  parameters?: Parameters[M],
  options?: { seed?: number | bigint; progress?: (progress: Progress) => boolean | void },
): Terrain;

/** A reach of a stream. */
export interface Reach {
  id: number;
  /** Strahler's order. */
  order: number;
  /** Shreve's magnitude. */
  magnitude: number;
  /** Metres along it. */
  length: number;
  /** Metres down it. */
  drop: number;
  slope: number;
  /** Catchment in m² where it ends. */
  catchment: number;
  /** Number of the reach that it runs into. */
  into: number | null;
  /** Its cells, row and column by turns. */
  cells: Uint32Array;
}

/** Where water goes, cell by cell, row by row from the north. */
export interface Drainage {
  /** Heights with depressions full, metres. */
  filled: Float64Array;
  /** Depth of depressions, metres. */
  lakeDepth: Float64Array;
  /** Depth of channels that were cut, where `breach` was given, metres. */
  cut?: Float64Array;
  /** The neighbour that a cell drains to: 1 east, 2 south-east, and on clockwise to 128; 0 for none (ESRI's codes). */
  directions: Uint8Array;
  /** Steepest way down by D∞, radians anticlockwise from east; below 0 where there is none. */
  angles: Float32Array;
  /** Cells that drain through a cell, itself among them. */
  cells: Uint32Array;
  /** Numbers of basins from 1 on; 0 without data. */
  basins: Uint32Array;
  /** Strahler's orders of streams; 0 where there is none. */
  orders: Uint32Array;
  reaches: Reach[];
  /** What was found in numbers, as in the command's drain.json. */
  summary: Record<string, unknown>;
}

/** Works out the drainage of a terrain. */
export function drain(
  terrain: Terrain,
  options?: {
    /** Catchment in m² from which on there is a stream. */
    threshold?: number;
    /** Cells, row and column, where water leaves. */
    outlets?: [number, number][];
    /** Channels are cut out of depressions within so many metres of depth and length before the rest is filled. */
    breach?: { depth: number; length: number };
    /** Receives the name of each phase when it begins; false ends the call with an error. */
    progress?: (phase: string) => boolean | void;
  },
): Drainage;

/** What covers a terrain, sample by sample. */
export interface Textures {
  rows: number;
  cols: number;
  /** Metres from sample to sample. */
  cellSize: number;
  /** What `weights` are of, in their order. */
  materials: Material[];
  /** What the weights of a sample sum to. */
  full: number;
  /** A weight for each material, sample by sample. */
  weights: Uint8Array | Uint16Array;
  /** Colour without light: red, green, blue (sRGB), 255. */
  albedo: Uint8ClampedArray;
  /** 0 smooth to 1 rough. */
  roughness: Float32Array;
  /** Share of the sky that ground sees. */
  occlusion: Float32Array;
  /** Mean curvature in 1/m, above 0 on crests. */
  curvature: Float32Array;
  /** Unit vector east and south, and speed in m/s, of water. */
  flow: Float32Array;
  /** Metres of loose ground, where the terrain knows of such. */
  deposit?: Float32Array;
}

/** Textures of a terrain, by the rules of its recipe. */
export function textures(
  terrain: Terrain,
  options?: {
    /** Samples on the longer side; the terrain's own if not said. */
    size?: number;
    /** Bits of a weight. */
    bits?: 8 | 16;
    /** As seen from the air: forest is a cover of its own. */
    fromAir?: boolean;
  },
): Textures;

/** A world of any size: any tile of any level, made as it is asked for, the same bits in any order. */
export class World {
  constructor(
    recipe: PresetName | (string & {}),
    options?: {
      seed?: number | bigint;
      /** Cells of a tile's side, 16 to 4096. */
      tile?: number;
    },
  );
  /** The first and the last zoom of a web map of it. */
  readonly zooms: Uint32Array;
  /** Width of a level's cells in metres. */
  width(level: number): number;
  /** First row and column of a level, and those after the last. */
  bounds(level: number): Float64Array;
  /** The tile of a level that holds a place in world metres, eastward and southward; false from `progress` ends it with an error. */
  tile(
    level: number,
    x: number,
    y: number,
    progress?: (progress: { stage: string; done: number; of: number }) => boolean | void,
  ): Terrain;
  /** Height of the ground at a place, in metres. */
  heightAt(level: number, x: number, y: number): number;
  /** What a web map must know of its tiles, which lie under `base` (TileJSON 3). */
  describe(base: string): Record<string, unknown>;
  /**
   * A tile of the web map (EPSG:3857, 256 pixels) as a PNG: heights in Mapbox's encoding, −10000 m + 0.1 m · (65536 R + 256 G + B),
   * in Terrarium's, or light. Nothing where there is no tile.
   */
  png(
    zoom: number,
    column: number,
    row: number,
    encoding?: "terrain-rgb" | "terrarium" | "hillshade",
  ): Uint8Array<ArrayBuffer> | undefined;
  free(): void;
  [Symbol.dispose](): void;
}

/** A recipe that comes with the library. */
export interface Preset {
  name: PresetName;
  /** A paragraph about the landform. */
  about: string;
  /** Cells on the long side. */
  cells: number;
  /** Its text, TOML. */
  recipe: string;
}

/** The presets, the first being the one to begin with. */
export function presets(): Preset[];

/** A layer that a model needs, heeds or leaves. */
export interface LayerSpec {
  name: string;
  unit: string;
  meaning: string;
}

/** The declaration of a model. */
export interface ModelPage {
  name: ModelName;
  summary: string;
  /** What happens to the ground, formula, source, where it breaks. */
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
  needs: LayerSpec[];
  uses: LayerSpec[];
  writes: LayerSpec[];
}

/** The declarations of all models. */
export function models(): ModelPage[];
