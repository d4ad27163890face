import { assertEquals } from "@std/assert";
import { lossLines, rateLines } from "../../../src/cli/term/loss_lines.ts";
import { newState } from "../../../src/scan/scan_state.ts";

function lines(sent: number, lost: number, found: number, retries: number | undefined) {
  const state = newState("", 0);
  Object.assign(state.canaries, { sent, lost });
  state.replies.valid = found;
  return lossLines(state, retries);
}

Deno.test("lossLines() says what is lost, whom that costs, and what another pass would leave", () => {
  assertEquals(lines(2000, 8, 996, 0), [
    "about 0.4 % of replies lost (0.17 to 0.79, of 2,000 questions to servers that had answered): " +
    "expect 4 of 1,000 servers missed (1.7 to 7.9); --retries 1 would leave 0.02",
  ]);
  assertEquals(lines(2000, 8, 996, 1), [
    "about 0.4 % of replies lost (0.17 to 0.79, of 2,000 questions to servers that had answered): " +
    "expect 0.02 of 996 servers missed (0 to 0.06)",
  ]);
  assertEquals(lines(50, 0, 20, 1), [
    "about 0 % of replies lost (0 to 7.1, of 50 questions to servers that had answered): " +
    "expect 0 of 20 servers missed (0 to 0.1)",
  ]);
  assertEquals(lines(10, 10, 3, 3), [
    "about 100 % of replies lost (69.2 to 100, of 10 questions to servers that had answered)",
  ]);
});

Deno.test("lossLines() tells the loss alone where a scan ended early, and nothing without canaries", () => {
  assertEquals(lines(1, 0, 5, undefined), [
    "about 0 % of replies lost (0 to 97.5, of 1 question to servers that had answered)",
  ]);
  assertEquals(lines(0, 0, 5, 1), []);
});

Deno.test("rateLines() says what --rate auto came to, and why", () => {
  const found = { rate: 18_400.4, lossAt: 20_612, lossThere: 0.0912, usualLoss: 0.031 };
  const line = (reason: "loss" | "buffers" | "sender" | "limit" | "searching" | "unknown") =>
    rateLines({ rate: { ...found, reason } })[0].replace("--rate auto ", "");
  assertEquals(
    line("loss"),
    "settled on 18,400 a second: above it canaries were lost (9.1 % at 20,612 a second, " +
      "3.1 % at lower rates)",
  );
  assertEquals(
    line("sender"),
    "settled on 18,400 a second: caps for hosts and networks, or this machine, let no more leave",
  );
  assertEquals(
    line("unknown"),
    "stayed at 18,400 a second: too few servers answered to tell whether more would be lost",
  );
  assertEquals(
    line("searching"),
    "came to 18,400 a second, and was still looking for the highest rate (3.1 % lost)",
  );
  assertEquals(
    line("limit"),
    "settled on 18,400 a second, the most that is allowed: no more was lost than at lower rates",
  );
  assertEquals(
    line("buffers"),
    "settled on 18,400 a second: above it the system had no room for what left, or came back",
  );
  assertEquals(rateLines({}), []);
});
