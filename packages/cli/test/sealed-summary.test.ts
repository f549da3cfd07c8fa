import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { runCli } from "./run-cli.ts";

const SEALED = "a blob that only the provider can read";

/** The sample session, whose compaction has a sealed summary of its provider. */
function sealedSession(): string {
  const provider = {
    ...{ api: "openai-responses", provider: "openai", model: "gpt-6-sol", tokens: 500, isSealed: true },
    items: [{ type: "compaction", id: "cmp_1", encrypted_content: SEALED }],
  };
  const lines = sampleLines() as Record<string, unknown>[];
  return writeLines(
    lines.map((line) => (line.type === "compaction" ? { ...line, details: { provider } } : line)),
  );
}

async function printed(args: string[]): Promise<string> {
  const { code, stdout } = await runCli(args);
  expect(code).toBe(0);
  return stdout.replaceAll(/\s+/g, " ");
}

test("every view says that the model also sees a sealed summary", async () => {
  const file = sealedSession();
  const note = "The model also sees a sealed summary, which only its provider can read.";
  expect(await printed(["show", file])).toContain(note);
  expect(await printed(["export", file])).toContain(note);
  expect(await printed(["context", file])).toContain("the model also sees a sealed summary");
  expect(await printed(["tree", file])).toContain("[and a sealed summary]");
  expect(JSON.parse(await printed(["show", file, "--json"])).compaction.provider).toEqual({ isSealed: true });
});

test("an export says so too, and has no sealed item", async () => {
  const target = join(testFolder(), "session.html");
  await printed(["export", sealedSession(), target]);
  const html = readFileSync(target, "utf8");
  const packed = [...html.matchAll(/octet-stream"[^>]*>([^<]*)</g)];
  const unpacked = packed.map(([, base64]) => gunzipSync(Buffer.from(base64!, "base64")).toString());
  const content = [html, ...unpacked].join("\n");
  expect(content).toContain("also sees a sealed summary");
  expect(content).not.toContain(SEALED);
  expect(await printed(["export", sealedSession()])).not.toContain(SEALED);
});
