/** The client of raknet-node: `raknet_node_ping.ts HOST:PORT...` prints a JSON list of texts. */
// deno-lint-ignore-file no-console
const name = "raknet-node"; // no literal: only this folder's configuration knows it
const { default: { RaknetClient } } = await import(name);

const texts: string[] = [];
for (const address of Deno.args) texts.push(await RaknetClient.ping(address));
console.log(JSON.stringify(texts));
