/** minecraft-server-util, without its DNS look-up of SRV records. */
// @ts-ignore: installed by peers.ts
import { queryFull, statusBedrock } from "minecraft-server-util";
import { askAll } from "./loop.mjs";

await askAll({
  raknet: (host, port, timeout) => statusBedrock(host, port, { timeout, enableSRV: false }),
  query: (host, port, timeout) => queryFull(host, port, { timeout, enableSRV: false }),
});
