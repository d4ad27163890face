/** gamedig, with the protocols named: its `minecraft` asks three of them and waits for the slowest. */
// @ts-ignore: installed by peers.ts
import { GameDig } from "gamedig";
import { askAll } from "./loop.mjs";

const gamedig = new GameDig();
const query = (protocol, host, port, socketTimeout) =>
  gamedig.query({ type: `protocol-${protocol}`, host, port, socketTimeout, givenPortOnly: true });

await askAll({
  async raknet(host, port, timeout) {
    const { name } = await query("minecraftbedrock", host, port, timeout);
    return { name };
  },
  async query(host, port, timeout) {
    const { raw, numplayers, maxplayers } = await query("gamespy3", host, port, timeout);
    return { version: raw.version, map: raw.map, online: numplayers, max: maxplayers };
  },
});
