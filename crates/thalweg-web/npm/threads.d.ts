export * from "./thalweg.js";
export { default } from "./thalweg.js";

/**
 * Makes threads of workers, which all later work shares; the bits are those of one. Once, after `init`, in a worker of a page that is isolated
 * (`crossOriginIsolated`): a page's own thread may not wait for others.
 *
 * @param threads 1 and more; such as `navigator.hardwareConcurrency`.
 */
export function initThreadPool(threads: number): Promise<unknown>;
