/**
 * gamedig, with one named protocol per query. Its type `minecraft` would query three protocols and
 * wait for the slowest one.
 */
// @ts-ignore: installed by shared/node_peers.ts
import { GameDig } from "gamedig";
import { queryAll } from "./loop.mjs";

const gamedig = new GameDig();
const query = (protocol) => (host, port, socketTimeout) =>
  gamedig.query({ type: `protocol-${protocol}`, host, port, socketTimeout, givenPortOnly: true });

await queryAll({
  raknet: query("minecraftbedrock"),
  query: query("gamespy3"),
  slp: query("minecraftvanilla"),
});
