/**
 * A server of jsp-raknet: `jsp_raknet.ts HOST PORT JSON [FASTER]`, where JSON sets the fields of its
 * advertisement, and FASTER is the factor by which its clock is accelerated. Prints `ready ID` when
 * it listens.
 */
// deno-lint-ignore-file no-console
const name = "jsp-raknet"; // not a literal, because only the configuration of this folder has this package
const { Server } = await import(name);
const { default: { default: ServerName } } = await import(`${name}/js/utils/ServerName.js`);

const [host, port, fields, faster = "1"] = Deno.args;
const now = Date.now;
const start = now();
Date.now = () => start + (now() - start) * Number(faster);
const advertisement = Object.assign(new ServerName(), JSON.parse(fields));
const server = new Server(host, Number(port), advertisement);
await server.listen();
console.log(`ready ${advertisement.serverId}`);
