/**
 * A server of flying-squid: `flying_squid.ts JSON`, where JSON has its options. Prints `ready` when
 * it listens.
 */
// deno-lint-ignore-file no-console
const name = "flying-squid"; // not a literal, because only the configuration of this folder has this package
const { default: { createMCServer } } = await import(name);

const server = createMCServer({
  "online-mode": false,
  logging: false,
  generation: { name: "superflat", options: {} },
  plugins: {},
  ...JSON.parse(Deno.args[0]),
});
// the error of a peer that closes the connection
server.on("error", (error: Error) => console.log(`error ${error.message}`));
await server.waitForReady(60_000);
console.log("\nready");
