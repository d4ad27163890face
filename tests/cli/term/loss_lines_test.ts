import { assertEquals } from "@std/assert";
import { lossLines, rateLines } from "../../../src/cli/term/loss_lines.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";

function lines(sent: number, lost: number, found: number, retries: number | undefined) {
  const state = newState("", 0);
  Object.assign(state.canaries, { sent, lost });
  state.replies.valid = found;
  return lossLines(state, retries);
}

Deno.test("lossLines() has the loss, the missed servers, and those after another pass", () => {
  assertEquals(lines(2000, 8, 996, 0), [
    "packet loss: about 0.4 % (95 % confidence interval 0.17 to 0.79 %); " +
    "servers missed: about 4 of 1,000 (0 to 14); --retries 1 would reduce this to 0.02",
  ]);
  assertEquals(lines(2000, 8, 996, 1), [
    "packet loss: about 0.4 % (95 % confidence interval 0.17 to 0.79 %); " +
    "servers missed: about 0.02 of 996 (0 to 1)",
  ]);
  assertEquals(lines(50, 0, 20, 1), [
    "packet loss: about 0 % (95 % confidence interval 0 to 7.1 %); " +
    "servers missed: about 0 of 20 (0 to 1)",
  ]);
  assertEquals(lines(10, 10, 3, 3), [
    "packet loss: about 100 % (95 % confidence interval 69.2 to 100 %)",
  ]);
});

Deno.test("lossLines() has only the loss for a scan that ended early, and is empty if nothing shows the loss", () => {
  assertEquals(lines(20, 0, 5, undefined), [
    "packet loss: about 0 % (95 % confidence interval 0 to 16.8 %)",
  ]);
  assertEquals([lines(0, 0, 5, 1), lines(1, 0, 8, 1)], [[], []]);
});

Deno.test("rateLines() has the rate that --rate auto chose, and the reason", () => {
  const found = { rate: 18_400.4, lossAt: 20_612, lossThere: 0.0912, usualLoss: 0.031 };
  const line = (reason: "loss" | "buffers" | "sender" | "limit" | "searching" | "unknown") =>
    rateLines({ rate: { ...found, reason } })[0].replace("--rate auto ", "");
  assertEquals(
    line("loss"),
    "chose 18,400 packets/s: above it canary probes were lost (9.1 % at 20,612/s, " +
      "3.1 % at lower rates)",
  );
  assertEquals(
    line("sender"),
    "chose 18,400 packets/s: this machine, its link, or the caps per host and network allowed no more",
  );
  assertEquals(
    line("unknown"),
    "stayed at 18,400 packets/s: too few servers replied to measure the loss",
  );
  assertEquals(
    line("searching"),
    "reached 18,400 packets/s and was still searching (loss 3.1 %)",
  );
  assertEquals(
    line("limit"),
    "chose 18,400 packets/s, the most that is allowed: the loss was no higher than at lower rates",
  );
  assertEquals(
    line("buffers"),
    "chose 18,400 packets/s: above it the send or receive buffers of the system were full",
  );
  assertEquals(rateLines({}), []);
});
