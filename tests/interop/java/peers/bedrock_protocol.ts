/**
 * A server of bedrock-protocol on jsp-raknet: `bedrock_protocol.ts HOST PORT JSON`, where JSON sets
 * the fields of its advertisement. Prints `ready ID` when it listens.
 */
// deno-lint-ignore-file no-console
// Not a literal, because only the configuration of this folder has this package. Its entry loads raknet-native, which would
// have to be compiled.
const name = "bedrock-protocol/src/server.js";
const { default: { Server } } = await import(name);

const [host, port, fields] = Deno.args;
const motd = JSON.parse(fields); // these fields replace those of its own advertisement
const options = { host, port: Number(port), version: "1.21.50", maxPlayers: 42, motd };
const server = new Server({ ...options, raknetBackend: "jsp-raknet" });
await server.listen();
console.log(`ready ${server.advertisement.serverId}`);
