/** The client of raknet-node: `raknet_node_ping.ts HOST:PORT...` prints a JSON list of texts. */
// deno-lint-ignore-file no-console
const name = "raknet-node"; // not a literal, because only the configuration of this folder has this package
const { default: { RaknetClient } } = await import(name);

const texts: string[] = [];
for (const address of Deno.args) texts.push(await RaknetClient.ping(address));
console.log(JSON.stringify(texts));
