import { expect, test } from "vitest";
import { on } from "../../../extension/test/desk.ts";
import { readClipboard } from "../../src/interactive/session/clipboard.ts";

test("refuses more than 64 MB", async () => {
  // A slow machine must reach the size before the time limit.
  const desk = { scripts: { "wl-paste": "cat /dev/zero" }, timeoutMs: 600_000 };
  await expect(readClipboard(on(desk))).rejects.toMatchObject({
    message: expect.stringContaining("more than 64 MB"),
  });
}, 600_000);

test("ends a program that hangs, with its children", async () => {
  const reading = readClipboard(on({ scripts: { "wl-paste": "sleep 1000" }, timeoutMs: 100 }));
  await expect(reading).rejects.toMatchObject({
    code: "clipboard_failed",
    message: expect.stringContaining("wl-paste did not answer within 0.1 s"),
  });
});

test("an abort ends the program", async () => {
  const stop = new AbortController();
  const reading = readClipboard(on({ scripts: { "wl-paste": "sleep 1000" }, signal: stop.signal }));
  stop.abort(new Error("Enough."));
  await expect(reading).rejects.toThrow("Enough.");
});
