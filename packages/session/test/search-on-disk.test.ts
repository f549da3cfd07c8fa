import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createSession, openSession, type Session } from "../src/index.ts";
import { foundInSession } from "./found-in-session.ts";
import { scratchFolder } from "./scratch-folder.ts";

// A session on disk is looked through line by line before anything is parsed; one in memory is not.
const pathOf = scratchFolder();
let files = 0;

function stored(...texts: string[]): Session {
  const session = createSession({ cwd: "/p", file: pathOf(`${files++}.jsonl`) });
  session.append(
    texts.map((content) => ({ type: "message", message: { role: "user", content, timestamp: 0 } }) as const),
  );
  return session;
}

const found = async (session: Session, query: string) =>
  (await foundInSession(session, query)).map(({ snippet }) => snippet);

const texts = [
  ["any case", "The Quick fox", "quick FOX"],
  ["a quoted text", 'he said "no" twice', 'said "no"'],
  ["across a newline", "first\nsecond", "first\nsecond"],
  ["a backslash", "C:\\temp\\x", "c:\\temp"],
  ["another script", "位置は東京です", "東京"],
  ["accents, in another case", "Grüße aus Zürich", "GRÜßE AUS"],
  ["a control character", "\u001b[31mred", "\u001b[31m"],
  ["special characters as they are", "a.b*c(d)[e]", "B*C(D)[E]"],
] as const;
test("finds a text in its line, and nothing in other lines", async () => {
  for (const [name, text, query] of texts) {
    const session = stored("something else", text, "more of it");
    expect
      .soft(
        (await foundInSession(session, query)).map(({ entryId }) => entryId),
        name,
      )
      .toEqual([session.entries()[1]!.id]);
  }
});

test("finds text that another program escaped, in any case", async () => {
  const session = stored("plain");
  session.close();
  const line = `{"type":"message","id":"eeeeeeee","parentId":null,"timestamp":"","message":{"role":"user","content":"\\u0047r\\u00fc\\u00dfe","timestamp":0}}`;
  writeFileSync(session.file!, `${readFileSync(session.file!, "utf8")}${line}\n`);
  expect(await found(openSession(session.file!), "gRÜSSE")).toEqual([]);
  expect(await found(openSession(session.file!), "gRÜße")).toEqual(["Grüße"]);
});

test("finds the right entries after blank and damaged lines", async () => {
  const session = stored("one needle", "two");
  session.close();
  const [header, ...lines] = readFileSync(session.file!, "utf8").trim().split("\n");
  const third = (lines.at(-1) ?? "")
    .replace(/"id":"\w+"/, '"id":"0000abcd"')
    .replace('"two"', '"last needle"');
  writeFileSync(session.file!, [header, "", "{garbage}", "", "42", ...lines, "", "[]", third, ""].join("\n"));
  expect(await found(openSession(session.file!), "needle")).toEqual(["one needle", "last needle"]);
});

test("law: every part of a text finds its entry on disk", async () => {
  const part = fc.record({
    text: fc.oneof(fc.string({ unit: "grapheme", minLength: 1 }), fc.string({ minLength: 1 })),
    from: fc.nat(),
    length: fc.nat(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 30, size: "max" }), async (parts) => {
      const session = stored(...parts.map(({ text }) => text));
      const ids = session.entries().map(({ id }) => id);
      for (const [at, { text, from, length }] of parts.entries()) {
        const start = from % text.length;
        const query = text.slice(start, start + 1 + (length % (text.length - start)));
        expect((await foundInSession(session, query)).map(({ entryId }) => entryId)).toContain(ids[at]);
      }
      session.close();
    }),
  );
});
