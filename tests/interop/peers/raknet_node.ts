/**
 * A server of raknet-node: `raknet_node.ts HOST:PORT`. Prints `ready ADVERTISEMENT` when it
 * listens, with the advertisement that its own client reads.
 */
// deno-lint-ignore-file no-console
const name = "raknet-node"; // not a literal, because only the configuration of this folder has this package
const { default: { RaknetServer, RaknetClient } } = await import(name);

const [address] = Deno.args;
const server = await RaknetServer.bind(address);
console.log(`ready ${await RaknetClient.ping(address)}`);
for (;;) {
  await server.accept(); // it also accepts half-open connections
  console.log("accepted");
}
