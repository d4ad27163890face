import { assert, assertEquals } from "@std/assert";
import { type WatchEvent, Webhook } from "../../src/watch/mod.ts";
import { FakeNetwork } from "../fakes/network.ts";

const event = (at: number): WatchEvent => ({
  ...{ event: "offline", at, host: "127.0.0.1", port: 1, requested_as: null, scan_id: "s" },
  ...{ misses: 3, last_seen: null },
});

/** A webhook whose other side answers as told: a status, an error, or never. */
async function hooked(answers: (number | "error" | "hangs")[], events: number) {
  const clock = new FakeNetwork(1);
  const bodies: number[][] = [];
  const losses: string[] = [];
  let asked = 0;
  const hook = new Webhook("http://127.0.0.1/", {
    clock,
    signal: new AbortController().signal,
    onLoss: (reason) => losses.push(reason),
    fetch: (_, { body, signal }) => {
      const answer = answers[Math.min(asked++, answers.length - 1)];
      if (answer === "error") return Promise.reject(new Error("connection refused"));
      if (answer === "hangs") {
        return new Promise((_, reject) =>
          signal!.addEventListener("abort", () => reject(signal!.reason))
        );
      }
      if (answer === 200) bodies.push(JSON.parse(String(body)).map(({ at }: WatchEvent) => at));
      return Promise.resolve(new Response("", { status: answer, statusText: "so" }));
    },
  });
  const start = clock.now();
  for (let i = 0; i < events; i++) hook.add(event(i));
  await clock.run(hook.idle());
  return { hook, bodies, losses, asked, took: clock.now() - start };
}

Deno.test("events arrive in order, in lists", async () => {
  const { hook, bodies, losses } = await hooked([200], 250);
  assertEquals(bodies.flat(), Array.from({ length: 250 }, (_, i) => i));
  assert(bodies.every((list) => list.length <= 100));
  assertEquals([hook.sent, hook.lost, losses], [250, 0, []]);
});

Deno.test("what fails is sent again, ever later", async () => {
  const { hook, bodies, asked, took } = await hooked(["error", 503, 429, 200], 3);
  assertEquals([bodies, hook.lost, asked], [[[0], [1, 2]], 0, 5]);
  assertEquals(Math.round(took), 1000 + 2000 + 4000);
});

Deno.test("what is refused for good, hangs or fails for long is lost, and told once", async () => {
  const refused = await hooked([404], 150);
  assertEquals([refused.hook.sent, refused.hook.lost, refused.losses], [0, 150, ["404 so"]]);
  const hangs = await hooked(["hangs"], 1);
  assertEquals([hangs.hook.lost, hangs.losses, hangs.asked], [1, ["no answer in 10 s"], 6]);
  const many = await hooked(["hangs", 200], 12_000);
  assertEquals([many.hook.sent + many.hook.lost, many.losses], [12_000, ["too many events wait"]]);
  assert(many.hook.lost >= 1900 && many.bodies.flat().at(-1) === 11_999);
});
