/**
 * A server of raknet-node: `raknet_node.ts HOST:PORT`. Says `ready ADVERTISEMENT` when it listens,
 * with what its own client reads of it.
 */
// deno-lint-ignore-file no-console
const name = "raknet-node"; // no literal: only this folder's configuration knows it
const { default: { RaknetServer, RaknetClient } } = await import(name);

const [address] = Deno.args;
const server = await RaknetServer.bind(address);
console.log(`ready ${await RaknetClient.ping(address)}`);
for (;;) {
  await server.accept(); // a connection that is half open is accepted too
  console.log("accepted");
}
