// biome-ignore-all lint/suspicious/noControlCharactersInRegex: they are what is looked for
import fc from "fast-check";
import { expect, test } from "vitest";
import { visibleWidth } from "../../src/interactive/terminal/tui.ts";
import { answer, bash, opened, result, stored, timestamp } from "./chat-setup.ts";

/** A report that names this term among the lost ones. */
function lossOf(term: string) {
  const count = { kept: 1, lost: 2, putBack: 1 };
  const lostTerms = [{ term, entryId: term }];
  return { failing: count, irreversible: count, openTodos: count, requests: count, terms: count, lostTerms };
}

const wild = fc.string({
  unit: fc.constantFrom(
    ..."ab \n\t|`*#->_~[](){}\"'\\0é漢字👩‍👩‍👧🇩🇪\x1b\x07\x00\r\u202e\u0301".split(""),
    "漢字",
    "👩‍👩‍👧",
    "```js\n",
    "| a | b |\n|---|---|\n",
    "\x1b[31m",
    "\x1b]8;;http://x\x07",
    "https://example.com/a/very/long/path/that/does/not/end ",
    "- ",
    "$$x^2$$",
  ),
  maxLength: 60,
});

test("Invariant: every line fits, and nothing but colours and links steers the terminal", () => {
  const law = fc.property(
    wild,
    wild,
    fc.integer({ min: 1, max: 90 }),
    fc.boolean(),
    (one, two, width, open) => {
      const { session, chat, screen } = opened();
      const details = { diff: two, added: 1, removed: 1 };
      session.append([
        stored({ role: "user", content: one, timestamp }),
        stored(answer([{ type: "thinking", thinking: two }, { type: "text", text: one }, bash("c", two)])),
        stored(result("c", one, { isError: true })),
        stored({
          ...{ role: "bashExecution", command: two, output: one, exitCode: 1, timestamp },
          ...{ cancelled: false, truncated: true, fullOutputPath: two },
        }),
        stored({
          role: "user",
          content: [
            { type: "text", text: `@${two}\n\n<file path=${JSON.stringify(two)}>\n${one}\n</file>` },
            { type: "image", data: one, mimeType: two },
          ],
          timestamp,
        }),
        stored(answer([bash("d", one)], { stopReason: "error", errorMessage: two })),
        stored(result("d", two, { details })),
        { type: "custom_message", customType: one, content: two, display: true },
        {
          type: "compaction",
          summary: one,
          firstKeptEntryId: "none",
          tokensBefore: 1,
          details: { readFiles: [two], manifest: { loss: lossOf(two) } },
        },
      ]);
      if (open) chat.toggleExpanded();
      chat.rebuild(session);
      chat.line({ text: one });
      for (const line of screen.chat.render(width)) {
        expect(visibleWidth(line)).toBeLessThanOrEqual(width);
        const bare = line.replaceAll(/\x1b\[[\d;]*m|\x1b\]8;[^\x07\x1b]*(\x07|\x1b\\)/g, "");
        expect(bare).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/);
      }
    },
  );
  fc.assert(law);
});
