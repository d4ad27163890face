/**
 * A server of SerenityJS' RakNet: `serenity.ts HOST PORT JSON`, where JSON sets its properties.
 * Prints `ready ID` when it listens.
 */
// deno-lint-ignore-file no-console
const name = "@serenityjs/raknet"; // not a literal, because only the configuration of this folder has this package
const { Server } = await import(name);

const [address, port, properties] = Deno.args;
const server = new Server({ address, port: Number(port), ...JSON.parse(properties) });
server.start();
await new Promise((resolve) => server.socket.once("listening", resolve));
console.log(`ready ${server.guid}`);
