/** minecraft-server-util, without its lookup of SRV records. */
// @ts-ignore: installed by shared/node_peers.ts
import { queryFull, status, statusBedrock } from "minecraft-server-util";
import { queryAll } from "./loop.mjs";

await queryAll({
  raknet: (host, port, timeout) => statusBedrock(host, port, { timeout, enableSRV: false }),
  query: (host, port, timeout) => queryFull(host, port, { timeout, enableSRV: false }),
  slp: (host, port, timeout) => status(host, port, { timeout, enableSRV: false }),
});
