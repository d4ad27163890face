/** blocksweep's own `query()` in Node, from the package that `deno task npm` writes. */
// @ts-ignore: linked by hand, see docs/benchmarks.md
import { query } from "blocksweep";
import { queryAll } from "./loop.mjs";

const queryOne = (protocol) => async (host, port, timeoutMs) => {
  const options = { protocol: [protocol], timeoutMs, retries: 0 };
  const [status] = await query(`${host}:${port}`, options);
  if (status === undefined) throw new Error("no reply");
  return status;
};

await queryAll({
  raknet: queryOne("raknet"),
  query: queryOne("query"),
  slp: queryOne("slp"),
});
