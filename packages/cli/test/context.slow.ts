import { expect, test } from "vitest";
import { header, writeLines } from "./call/sample-session.ts";
import { runCli } from "./run-cli.ts";

// A function call with one argument for each item would fail at this size.
test("bonsai context prints 150,000 items", async () => {
  const idOf = (at: number) => at.toString(16).padStart(8, "0");
  const lines = Array.from({ length: 150_000 }, (_, at) => ({
    type: "message",
    id: idOf(at),
    parentId: at === 0 ? null : idOf(at - 1),
    timestamp: "2026-11-20T09:00:00.000Z",
    message: { role: "user", content: "hi", timestamp: 0 },
  }));
  const { code, stdout } = await runCli(["context", writeLines([header, ...lines])], { columns: 80 });
  expect(code).toBe(0);
  expect(stdout).toContain("150,000 items at 000249ef");
});
