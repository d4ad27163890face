/** gamedig, with the protocols named: its `minecraft` asks three of them and waits for the slowest. */
// @ts-ignore: installed by peers.ts
import { GameDig } from "gamedig";
import { askAll } from "./loop.mjs";

const gamedig = new GameDig();
const query = (protocol) => (host, port, socketTimeout) =>
  gamedig.query({ type: `protocol-${protocol}`, host, port, socketTimeout, givenPortOnly: true });

await askAll({ raknet: query("minecraftbedrock"), query: query("gamespy3") });
