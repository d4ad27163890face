/**
 * A server of JSPrismarine, whole: `jsprismarine.ts HOST PORT MOTD`. Keeps its files in the folder
 * that `JSP_DIR` names. Says `ready GUID` when it listens.
 */
// deno-lint-ignore-file no-console
const load = (name: string) => import(name); // no literal: only this folder's configuration knows it
const { Server, Config } = await load("@jsprismarine/prismarine");
const { Logger } = await load("@jsprismarine/logger");

const [host, port, motd] = Deno.args;
const config = new Config();
const server = new Server({ config, logger: new Logger("info"), headless: true });
config.getMotd = () => motd;
await server.bootstrap(host, Number(port));
// It reads the GUID from uninitialised memory: 3 of 12 servers had 0 by chance.
server.raknet.guid = 0n;
console.log(`ready ${server.raknet.guid}`);
setInterval(() => {}, 1 << 30); // its own sockets and timers keep no process running
