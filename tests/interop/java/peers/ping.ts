/**
 * The client of node-minecraft-protocol: `ping.ts HOST:PORT...` prints a JSON list: for each server
 * its status, and the MOTD in the form of prismarine-chat, or `null`.
 */
// deno-lint-ignore-file no-console
const names = ["minecraft-protocol", "prismarine-chat"]; // no literals: see deno.json here
const [{ default: { ping } }, { default: chat }] = await Promise.all(names.map((n) => import(n)));

const VERSION = "1.21.1";
const ChatMessage = chat(VERSION);

const read = Deno.args.map(async (place) => {
  const [host, port] = place.split(":");
  // The timeout, milliseconds.
  const limits = { closeTimeout: 2000, noPongTimeout: 1000 };
  try {
    const status = await ping({ host, port: Number(port), version: VERSION, ...limits });
    const { description } = status;
    return { status, motd: description && new ChatMessage(description).toString() };
  } catch (error) {
    return { error: String(error) };
  }
});
console.log(JSON.stringify(await Promise.all(read)));
Deno.exit(); // exits explicitly, because timers of the client would keep the process running
