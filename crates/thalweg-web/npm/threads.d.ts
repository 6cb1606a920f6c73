export * from "./thalweg.js";
export { default } from "./thalweg.js";

/**
 * Starts workers as threads that share all later work; the results have the same bits as those of one thread. Call it
 * once, after `init`, in a worker of an isolated page (`crossOriginIsolated`): the main thread of a page may not wait
 * for other threads.
 *
 * @param threads The number of threads, 1 or more, for example `navigator.hardwareConcurrency`.
 */
export function initThreadPool(threads: number): Promise<unknown>;
