/** minecraft-server-util, without its DNS look-up of SRV records. */
// @ts-ignore: installed by peers.ts
import { queryFull, statusBedrock } from "minecraft-server-util";
import { askAll } from "./loop.mjs";

await askAll({
  async raknet(host, port, timeout) {
    const { serverGUID } = await statusBedrock(host, port, { timeout, enableSRV: false });
    return { guid: String(serverGUID) };
  },
  async query(host, port, timeout) {
    const { version, map, players } = await queryFull(host, port, { timeout, enableSRV: false });
    return { version, map, online: players.online, max: players.max };
  },
});
