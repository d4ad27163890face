/**
 * Reads, prepares and runs crawls.
 *
 * @module
 */
export { prepareCrawl, type PreparedCrawl } from "./prepare_crawl.ts";
export { readCrawl } from "./read_crawl.ts";
export { runPreparedCrawl } from "./run_crawl.ts";
