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
