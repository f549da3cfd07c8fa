import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { createSession, openSession, type Session } from "@bonsai-agent/session";
import { generateSession } from "@bonsai-agent/testkit";
import { exportMarkdown } from "@bonsai-agent/transcripts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type PageOptions, pageHtml, SessionPage } from "../src/index.ts";

const MORE_BYTES = 400_000;
/** Each case writes several pages. */
const PAGE_RUNS = Math.ceil(fc.readConfigureGlobal().numRuns! / 5);

function htmlOf(session: Session, options: PageOptions = {}): string {
  return [...pageHtml(new SessionPage(session, options))].join("");
}

/** The whole content of a page, unpacked. */
function contentOf(html: string): string {
  const packed = [...html.matchAll(/<script type="application\/octet-stream"[^>]*>([^<]*)</g)];
  return [html, ...packed.map(([, base64]) => gunzipSync(Buffer.from(base64!, "base64")).toString())].join(
    "\n",
  );
}

test("a page of 2,000 entries is at most 400 kB larger than its session", () => {
  const file = join(mkdtempSync(join(tmpdir(), "page-")), "session.jsonl");
  const { bytes } = generateSession({ file, entries: 2_000, averageBytes: 700, compactions: 3 });
  expect(htmlOf(openSession(file)).length).toBeLessThanOrEqual(bytes + MORE_BYTES);
});

test("a page of incompressible pictures is at most 400 kB larger than its session", () => {
  const file = join(mkdtempSync(join(tmpdir(), "page-")), "session.jsonl");
  const session = createSession({ cwd: "/project", file });
  let noise = 1;
  const data = Buffer.from(
    Uint8Array.from({ length: 100_000 }, () => {
      noise = (noise * 48_271) % 2_147_483_647;
      return noise >> 8;
    }),
  ).toString("base64");
  for (let at = 0; at < 20; at += 1)
    session.append({
      type: "message",
      message: { role: "user", content: [{ type: "image", data, mimeType: "image/png" }], timestamp: 0 },
    });
  const html = htmlOf(session);
  session.close();
  expect(html.length).toBeLessThanOrEqual(statSync(file).size + MORE_BYTES);
});

/** Each occurrence of a text, with the 60 characters before it. */
function placesOf(text: string, content: string): string[] {
  const places: string[] = [];
  for (let at = content.indexOf(text); at >= 0; at = content.indexOf(text, at + 1))
    places.push(content.slice(Math.max(0, at - 60), at + text.length));
  return places;
}

/** Every kind of entry, with a text in each text field. */
function sessionAbout(text: string): Session {
  const session = createSession({ cwd: `/${text}` });
  const say = (message: object) =>
    session.append({ type: "message", message: { timestamp: 0, ...message } as never });
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
  const { id } = say({ role: "user", content: `Use ${text} here` });
  say({
    role: "user",
    content: [
      { type: "text", text },
      { type: "image", mimeType: `image/${text}`, data: "AAAA" },
    ],
  });
  say({
    role: "assistant",
    ...{ api: text, provider: text, model: text, usage, stopReason: "error", errorMessage: `401 ${text}` },
    content: [
      { type: "thinking", thinking: text },
      { type: "text", text: `\`\`\`\n${text}\n\`\`\`` },
      {
        type: "toolCall",
        id: text,
        name: text,
        arguments: { path: text, deep: [{ [text]: [text] }], command: text },
      },
      {
        type: "toolCall",
        id: `2 ${text}`,
        name: "edit",
        arguments: { path: text, oldText: text, newText: text },
      },
    ],
  });
  say({
    role: "toolResult",
    ...{ toolCallId: text, toolName: text, isError: true, details: { path: text, diff: `+${text}` } },
    content: [{ type: "text", text }],
  });
  say({
    role: "bashExecution",
    command: `curl ${text}`,
    output: text,
    exitCode: 0,
    cancelled: false,
    truncated: false,
  });
  session.append({ type: "session_info", name: text });
  session.append({ type: "label", targetId: id, label: text });
  session.append({ type: "model_change", provider: text, modelId: text });
  session.append({ type: "thinking_level_change", thinkingLevel: text });
  session.append({ type: "custom", customType: text, data: { [text]: text } });
  session.append({ type: "custom_message", customType: text, content: text, display: true });
  session.append({ type: "context_edit", targetId: id, replacement: { content: text } });
  session.append({
    type: "branch_summary",
    summary: text,
    fromId: id,
    details: { readFiles: [text] },
  } as never);
  session.append({
    type: "compaction",
    summary: `- ${text}`,
    firstKeptEntryId: id,
    tokensBefore: 1_000,
    details: { readFiles: [text], modifiedFiles: [text] },
  } as never);
  return session;
}

test("no part of a page contains a stored key or a text that looks like one", () => {
  const letters = fc.string({
    unit: fc.constantFrom(..."abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"),
    minLength: 24,
    maxLength: 40,
  });
  fc.assert(
    fc.property(letters, (secret) => {
      const stored = contentOf(htmlOf(sessionAbout(secret), { secrets: [secret] }));
      expect(placesOf(secret, stored)).toEqual([]);
      const known = `sk-ant-api03-${secret}`;
      expect(placesOf(secret, contentOf(htmlOf(sessionAbout(known))))).toEqual([]);
      expect(placesOf(known, contentOf(htmlOf(sessionAbout(known), { redact: false })))).not.toEqual([]);
    }),
    { numRuns: PAGE_RUNS },
  );
});

/** The first characters of a key, which a cut text could leave. */
const HEAD_CHARS = 14;

test("a page has no part of a key in texts that are cut, coloured, quoted or joined", () => {
  const secret = "ghp_R4nd0mR4nd0mR4nd0mR4nd0mR4nd0mR4nd0m";
  const body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
  const pem = `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----`;
  const quoted = 'pass"word\\of 12';
  const longer = "stored-key-one-and-more-of-it";
  const secrets = [quoted, longer.slice(0, 14), longer];
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_050 }), (before) => {
      const filled = "word ".repeat(before / 5);
      const coloured = `${secret.slice(0, 9)}\u001b[31m${secret.slice(9)}`;
      const texts = [secret, pem, coloured, quoted, longer].map((each) => `${filled}${each}`);
      for (const text of texts) {
        const content = contentOf(htmlOf(sessionAbout(text), { secrets }));
        const kept = [secret.slice(0, HEAD_CHARS), ...body.split("\n"), 'pass\\"word', "and-more-of-it"];
        expect(kept.flatMap((each) => placesOf(JSON.stringify(each).slice(1, -1), content))).toEqual([]);
        expect(placesOf(quoted, content)).toEqual([]);
      }
    }),
    { examples: [[0], [110], [119], [190]], numRuns: PAGE_RUNS },
  );
});

test("a page leaves out values of secret fields, and images with invalid data", () => {
  const secret = "hunter2-and-3-more";
  const session = createSession({ cwd: "/project" });
  const say = (message: object) =>
    session.append({ type: "message", message: { timestamp: 0, ...message } as never });
  const call = { type: "toolCall", id: "1", name: "login", arguments: { user: "me", api_key: secret } };
  say({ role: "assistant", content: [call] });
  const image = { type: "image", mimeType: "image/svg+xml", data: secret };
  say({ role: "user", content: [image, { ...image, mimeType: "image/png" }] });
  session.append({ type: "custom", customType: "own", data: { data: { password: secret } } });
  const deep = Array.from({ length: 3_000 }).reduce<unknown>((inner) => [inner], { password: secret });
  session.append({ type: "custom", customType: "deep", data: deep });
  const page = new SessionPage(session);
  expect(placesOf(secret, contentOf([...pageHtml(page)].join("")))).toEqual([]);
  expect(page.redacted).toBe(5);
});

test("a value with a secret name is redacted everywhere, also in an index of terms and a summary", () => {
  const session = createSession({ cwd: "/project" });
  const say = (message: object) =>
    session.append({ type: "message", message: { timestamp: 0, ...message } as never });
  const { id } = say({
    role: "user",
    content: "See .env:\nDB_PASSWORD=hunterTwo_prod99x\n-TOKEN=Tk77aaBBccDDee",
  });
  const values = { env: [{ name: "API_KEY", value: "listed-key-19" }], passwords: ["first-of-4-keys"] };
  session.append({ type: "custom", customType: "own", data: values });
  say({ role: "user", content: "Escaped: sk\\_live\\_51H8abcdefghijklmnop" });
  session.append({
    type: "compaction",
    summary:
      "<terms>\n- DB_PASSWORD, hunterTwo_prod99x, Tk77aaBBccDDee, listed-key-19, first-of-4-keys\n</terms>",
    firstKeptEntryId: id,
    tokensBefore: 1_000,
  });
  const secrets = ["hunterTwo_prod99x", "Tk77aaBBccDDee", "listed-key-19", "first-of-4-keys", "51H8abcdefgh"];
  const page = contentOf(htmlOf(session));
  expect(secrets.filter((secret) => page.includes(secret))).toEqual([]);
  // A Markdown export has only messages and summaries.
  const markdown = exportMarkdown(session);
  expect(secrets.slice(0, 2).filter((secret) => markdown.includes(secret))).toEqual([]);
});
