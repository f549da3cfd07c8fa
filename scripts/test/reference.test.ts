import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { errorsPage, noticesPage } from "../reference/codes.ts";
import { eventsPage } from "../reference/events.ts";
import { referencePages } from "../reference/pages.ts";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

test("generated pages match the code: `pnpm docs:reference` writes them", async () => {
  const stale = [...(await referencePages(root))].filter(
    ([path, text]) => text !== readFileSync(join(root, path), "utf8"),
  );
  expect(stale.map(([path]) => path)).toEqual([]);
});

test("a type of an event is the one of its own package", () => {
  const types = eventsPage(root);
  expect(types).toContain('status: "done" | "aborted" | "failed" | "handled" | "paused" | "queued";');
  expect(types.match(/^interface RunResult /gm)).toHaveLength(1);
  expect(types).toMatch(/^interface PromptInput /m);
});

test("every error and notice has a text: a literal message, or a comment above its code", () => {
  const empty = /^\| `\w+` \| +\|/gm;
  expect([errorsPage(root), noticesPage(root)].flatMap((text) => text.match(empty) ?? [])).toEqual([]);
});

/** A workspace with one package that has one source text. */
function workspace(source: string): string {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-reference-"));
  mkdirSync(join(folder, "packages/session/src"), { recursive: true });
  writeFileSync(join(folder, "packages/session/package.json"), '{ "name": "session" }');
  writeFileSync(join(folder, "packages/session/src/a.ts"), source);
  return folder;
}

const rowsOf = (text: string) => text.split("\n").filter((line) => line.startsWith("| `"));

test("reads message and hint of an error", () => {
  const root = workspace(
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text of the test
    'const hint = "Try " + "again."; throw new BonsaiError({ code: "no_file", message: `No file ${path}.`, hint });',
  );
  expect(rowsOf(errorsPage(root))).toEqual(["| `no_file` | No file …. | Try again. | session |"]);
  expect(rowsOf(noticesPage(root))).toEqual([]);
});

test.each([
  'onNotice({ level: "info", code: "odd_thing", message: "Odd." });',
  'work.onNotice?.({\n  code: "odd_thing",\n  message: "Odd.",\n});',
  'runner.notice({\n  /** Odd. */\n  type: "odd_thing",\n  event,\n});',
  'const odd: AgentNotice = {\n  level: "warning",\n  code: "odd_thing", message: "Odd." };',
  'const odd: Notice = { code: "odd_thing", message: odd ? "Odd." : text };',
  'const message = "Odd."; export const f = () => { return { level: "warning", code: "odd_thing", message }; };',
])("finds a notice: %s", (source) => {
  expect(rowsOf(noticesPage(workspace(source)))).toEqual(["| `odd_thing` | Odd. | session |"]);
});

test("an emitted event is not a notice", () => {
  const root = workspace('events.notify("turn_start", { type: "turn_start" });');
  expect(rowsOf(noticesPage(root))).toEqual([]);
});
