/**
 * A complete server of JSPrismarine: `jsprismarine.ts HOST PORT MOTD`. Its files are in the folder
 * `JSP_DIR`. Prints `ready GUID` when it listens.
 */
// deno-lint-ignore-file no-console
const load = (name: string) => import(name); // not a literal, because only the configuration of this folder has this package
const { Server, Config } = await load("@jsprismarine/prismarine");
const { Logger } = await load("@jsprismarine/logger");

const [host, port, motd] = Deno.args;
const config = new Config();
const server = new Server({ config, logger: new Logger("info"), headless: true });
config.getMotd = () => motd;
await server.bootstrap(host, Number(port));
// It reads the GUID from uninitialised memory. By chance, 3 of 12 servers had the GUID 0.
server.raknet.guid = 0n;
console.log(`ready ${server.raknet.guid}`);
setInterval(() => {}, 1 << 30); // its sockets and timers do not keep the process running
