import { emptyUsage } from "@bonsai-agent/messages";
import type { Entry, SessionHeader } from "@bonsai-agent/session";
import { type ExportedSession, exportMarkdown } from "@bonsai-agent/transcripts";
import { HtmlRenderer, Parser } from "commonmark";
import fc from "fast-check";
import { JSDOM } from "jsdom";
import MarkdownIt from "markdown-it";
import { Marked } from "marked";
import { describe, expect, test } from "vitest";

// Readers of Markdown that differ in their grammar, each with HTML on: by CommonMark, by GitHub's, and with all of
// GitHub's by patterns.
const strict = { parser: new Parser(), renderer: new HtmlRenderer({ safe: false }) };
const broad = new MarkdownIt("default", { html: true, linkify: true, typographer: true });
// A renderer that judges addresses would hide what it was given.
broad.validateLink = () => true;
const patterns = new Marked({ gfm: true });
const readers: Record<string, (text: string) => string> = {
  commonmark: (text) => strict.renderer.render(strict.parser.parse(text)),
  "markdown-it": (text) => broad.render(text),
  marked: (text) => patterns.parse(text, { async: false }),
};

const { DOMParser } = new JSDOM("").window;

function dom(html: string): Document {
  return new DOMParser().parseFromString(`<body>${html}</body>`, "text/html");
}

const elements = new Set(
  "h1 h2 h3 h4 h5 h6 p ul ol li blockquote pre code em strong a hr br table thead tbody tr th td del s details summary sub input".split(
    " ",
  ),
);
const attributes = new Set("href title class start align style type disabled checked".split(" "));

/** What of a page is more than text, that no reader of an export may ever make of it. */
function live(page: Document): string[] {
  return [...page.body.getElementsByTagName("*")].flatMap((element) => {
    const tag = element.localName;
    const found = elements.has(tag) ? [] : [`<${tag}>`];
    if (tag === "input" && element.getAttribute("type") !== "checkbox") found.push("<input>");
    for (const { name, value } of element.attributes) {
      if (!attributes.has(name)) found.push(`${tag} ${name}`);
      if (name === "style" && !/^text-align: ?\w+$/.test(value)) found.push(`${tag} style`);
      if (name === "href" && !harmless(value)) found.push(`href ${value}`);
    }
    return found;
  });
}

/** As a browser reads an address: without controls and white space. */
function harmless(address: string): boolean {
  const read = address.replaceAll(/[\0-\x20]/g, "");
  return /^(?:https?|mailto|ftp):/i.test(read) || !/^[a-z][a-z0-9+.-]*:/i.test(read);
}

/** The document's own structure: its titles and what it folds. */
function skeleton(page: Document): string[] {
  const own = [...page.body.children].filter(({ localName }) => /^(?:h1|h2|details)$/.test(localName));
  const titles = own.map((element) =>
    element.localName === "h2" ? `h2 ${element.textContent.trim()}` : element.localName,
  );
  const folds = page.getElementsByTagName("details").length;
  return [...titles, `${folds} folds`, `${page.getElementsByTagName("sub").length} places`];
}

const place = { timestamp: "2026-01-02T03:04:05.000Z" };
const header: SessionHeader = { type: "session", version: 3, id: "s1", cwd: "/a", ...place };

type Fields = Record<string, unknown>;
const message = (fields: Fields): Fields => ({ type: "message", message: { timestamp: 0, ...fields } });
const answer = (content: object[], more: Fields = {}): Fields =>
  message({
    role: "assistant",
    content,
    provider: "p",
    model: "m",
    usage: emptyUsage(),
    stopReason: "stop",
    ...more,
  });
const text = (value: string) => ({ type: "text", text: value });
const image = (mimeType: string) => ({ type: "image", mimeType, data: "AAAA" });
const long = "long ".repeat(40);

/** Where text from outside stands in an export. */
const places: Record<string, (text: string) => { header?: Fields; entries?: Fields[] }> = {
  "a user's text": (value) => ({ entries: [message({ role: "user", content: value })] }),
  "blocks of a user": (value) => ({
    entries: [message({ role: "user", content: [text(value), text(value), image(value)] })],
  }),
  "an answer": (value) => ({ entries: [answer([text(value), text(value)])] }),
  thinking: (value) => ({ entries: [answer([{ type: "thinking", thinking: value }])] }),
  "an error": (value) => ({ entries: [answer([], { errorMessage: value, stopReason: "error" })] }),
  "a tool's name": (value) => ({
    entries: [
      answer([{ type: "toolCall", id: value, name: value, arguments: { long } }]),
      message({
        role: "toolResult",
        toolCallId: value,
        toolName: value,
        content: [text("x")],
        isError: false,
      }),
    ],
  }),
  arguments: (value) => ({
    entries: [answer([{ type: "toolCall", id: "c", name: "t", arguments: { [`a${value}`]: value, long } }])],
  }),
  "short arguments": (value) => ({
    entries: [
      answer([{ type: "toolCall", id: "c", name: "t", arguments: { a: value.slice(0, 80) } }]),
    ].filter(() => JSON.stringify(value.slice(0, 80)).length < 100),
  }),
  "a result": (value) => ({
    entries: [
      message({ role: "toolResult", toolName: "t", content: [text(value), image(value)], isError: true }),
    ],
  }),
  "a command": (value) => ({
    entries: [message({ role: "bashExecution", command: value, output: value, exitCode: 0 })],
  }),
  "a note": (value) => ({
    entries: [
      message({ role: "custom", customType: value, content: value }),
      { type: "custom_message", customType: value, content: value, display: true },
    ],
  }),
  summaries: (value) => ({
    entries: [
      { type: "compaction", summary: value, firstKeptEntryId: value, tokensBefore: value },
      { type: "branch_summary", summary: value, fromId: value },
    ],
  }),
  "a masked result": (value) => ({
    entries: [
      {
        ...message({ role: "toolResult", toolName: "t", content: [text("x")], isError: false }),
        id: "masked",
      },
      { type: "context_edit", targetId: "masked", replacement: { content: [text(value)] } },
    ],
  }),
  "labels and ids": (value) => ({
    entries: [
      { ...message({ role: "user", content: "x" }), id: `id${value}`, timestamp: value },
      { type: "label", targetId: `id${value}`, label: value },
    ],
  }),
  models: (value) => ({
    entries: [
      { type: "model_change", provider: value, modelId: value },
      answer([text("x")], { provider: value, model: value, usage: { ...emptyUsage(), input: value } }),
    ],
  }),
  "the head": (value) => ({
    header: { id: value, cwd: value, timestamp: value },
    entries: [{ type: "session_info", name: value }],
  }),
};

/** A session with a text in some places, each between entries of its own. */
function sessionWith(value: string, names = Object.keys(places)): ExportedSession {
  const parts = names.map((name) => places[name]!(value));
  const between = message({ role: "user", content: "between" });
  const fields = parts.flatMap(({ entries = [] }) => [...entries, between]);
  let last: string | null = null;
  const entries = fields.map((entry, at) => {
    const id = typeof entry.id === "string" ? entry.id : `e${at}`;
    const whole = { ...place, ...entry, id, parentId: last };
    last = id;
    return whole as unknown as Entry;
  });
  const head = Object.assign({}, header, ...parts.map((part) => part.header));
  return { header: head, leafId: last, entries: () => entries, path: () => entries };
}

const skeletons = new Map<string, string[]>();

/** The structure of the same session with a harmless word in those places. */
function expectedSkeleton(reader: string, names: string[] | undefined): string[] {
  const key = `${reader} ${names?.join()}`;
  const known =
    skeletons.get(key) ?? skeleton(dom(readers[reader]!(exportMarkdown(sessionWith("word", names)))));
  skeletons.set(key, known);
  return known;
}

/** Asserts that a text is only text for every reader, wherever it stands. */
function expectHarmless(value: string, names?: string[]): void {
  const exported = exportMarkdown(sessionWith(value, names));
  for (const [reader, render] of Object.entries(readers)) {
    const page = dom(render(exported));
    const found = { live: live(page), skeleton: skeleton(page) };
    const expected = { live: [], skeleton: expectedSkeleton(reader, names) };
    expect(found, `${reader} of ${JSON.stringify(value)}`).toEqual(expected);
  }
}

const TAG = "<img src=x onerror=alert(1)>";
const LINK = "[a](javascript:alert(1))";

const hostile: Record<string, readonly string[]> = {
  "tags of all kinds": [
    TAG,
    "<script>alert(1)</script>",
    "<SCRIPT\n>alert(1)</SCRIPT\n>",
    "<svg/onload=alert(1)>",
    "<iframe src=javascript:alert(1)>",
    "<!-- open",
    "<!-- a -->\n<b>",
    "--><b>",
    "<![CDATA[ <b> ]]>",
    "<?php echo 1 ?>\n<b>",
    "<!DOCTYPE html>",
    "</details>",
    "</summary></details></sub></code></pre>",
    "<details><summary>mine</summary>",
    "<a href='javascript:1'>x</a>",
    "<a\nhref=x>",
    "<b\tonclick=1>",
    "<x-y>",
    "<style>*{}</style>",
    "<textarea>",
    "<title>",
    "<plaintext>",
    "<base href=//e>",
    "<form action=x><input name=y>",
    "a <b> c",
    "\\<b>",
    "\\\\<b>",
    "&lt;b>&#60;b&#62;",
    "<\u0000b>",
    "< b>",
    "<<b>>",
    "<b <i>>",
  ],
  ticks: [
    `\`a\`\` ${TAG}`,
    `\`\`a\` ${TAG}`,
    `\`a ${TAG}`,
    `\\\`${TAG}\``,
    `\\\\\`${TAG}\``,
    `\`\\\`${TAG}\``,
    `\`${TAG}\``,
    `\`\`${TAG}\` \`\``,
    `a \` b\n\n${TAG} \``,
    `\`a\n${TAG}\``,
    `\`a\n# b ${TAG}\``,
    `\`a\n- b ${TAG}\``,
    `\`a\n> b ${TAG}\``,
    `\`\`\`a\`${TAG}\`\`\``,
    `\`<a title="\`">\` ${TAG}`,
    `<a title="\`">${TAG}\``,
    `[x](u "\`") ${TAG}\``,
    `[x](u "t) \`") ${TAG} \``,
    `[x](<\`>) ${TAG}\``,
    `[\`](u) ${TAG} \``,
    `<https://a/\`> ${TAG}\``,
    `| \`a | ${TAG} \` |\n|--|--|\n| \`b | ${TAG}\` |`,
    `a | b\n--|--\n\`x \\| ${TAG}\` | y`,
    `\`\` \`${TAG}\` \`\` \`${TAG}`,
    `&#96;${TAG}&#96; \`a\``,
    `$\`${TAG}\`$`,
    `*\`a*\` ${TAG}`,
  ],
  fences: [
    `\`\`\`\n${TAG}`,
    `\`\`\`a\`b\n${TAG}\n\`\`\``,
    `~~~ a\`b\n${TAG}\n~~~\n${TAG}`,
    `~~~\n${TAG}\n\`\`\`\n${TAG}\n~~~`,
    `\`\`\`\`\n\`\`\`\n${TAG}\n\`\`\``,
    `    \`\`\`\n${TAG}\n    \`\`\``,
    `   \`\`\`\n${TAG}\n   \`\`\`\n${TAG}`,
    `\`\`\`\n${TAG}\n    \`\`\`\n${TAG}`,
    `\`\`\`\n${TAG}\n\`\`\` x\n${TAG}`,
    `- \`\`\`\n${TAG}\n- \`\`\``,
    `- \`\`\`\n  ${TAG}\n  \`\`\`\n${TAG}`,
    `1. \`\`\`\n   ${TAG}\n\`\`\`\n${TAG}`,
    `- a\n\n      \`\`\`\n  ${TAG}`,
    `> \`\`\`\n${TAG}`,
    `> \`\`\`\n> ${TAG}\n\`\`\`\n${TAG}`,
    `- > \`\`\`\n  > ${TAG}\n  ${TAG}`,
    `a\n\`\`\`\n${TAG}\n\`\`\`\n${TAG}`,
    `\t\`\`\`\n${TAG}\n\t\`\`\``,
    `-\t\`\`\`\n\t${TAG}\n\t\`\`\`\n${TAG}`,
    `\`\`\`${TAG}\nx\n\`\`\``,
    `\`\`\`"onload=alert(1)\nx\n\`\`\``,
    `\`\`\`\r${TAG}\r\`\`\`\r${TAG}`,
    `\`\`\`\u2028${TAG}\u2028\`\`\`\u2028${TAG}`,
    `\`\`\`\f${TAG}\v\`\`\``,
    `\uFEFF\`\`\`\n${TAG}\n\`\`\``,
    `    ${TAG}`,
    `a\n    ${TAG}`,
    `- a\n\n    ${TAG}`,
    `- a\n\n      ${TAG}`,
    `[^1]: a\n\n    ${TAG}`,
    `:   a\n\n        ${TAG}`,
    `> a\n    ${TAG}`,
    `$$\n${TAG}\n$$`,
    `password:\n~~~~~~1a\n${TAG}\n~~~~~~1a`,
    `password=\`\`\`\`1aaaa\n\`\`\`\n${TAG}`,
  ],
  addresses: [
    LINK,
    "[a](JaVaScRiPt:alert(1))",
    "[a](<javascript:alert(1)>)",
    "[a](java\tscript:alert(1))",
    "[a](<java\tscript:alert(1)>)",
    "[a](&#106;avascript:alert(1))",
    "[a](&#x6A;avascript&colon;alert(1))",
    "[a](javascript&Tab;:alert(1))",
    "[a](java&NewLine;script:alert(1))",
    "[a](javascript\\:alert(1))",
    "[a](\n javascript:alert(1))",
    "> [a](\n> javascript:alert(1))",
    "[a]( \u0001javascript:alert(1))",
    "[a](vbscript:x)",
    "[a](data:text/html,x)",
    "[a](file:///etc/passwd)",
    "[a](blob:x)",
    "[a](x-app:run)",
    "[a\\](javascript:alert(1))",
    "[a\\\\](javascript:alert(1))",
    "[`a`](javascript:alert(1))",
    `[a\`](javascript:alert(1)) \``,
    "[a][b]\n\n[b]: javascript:alert(1)",
    "[b]\n\n[b]:\njavascript:alert(1)",
    "[b]\n\n[b]: <javascript:alert(1)> 't'",
    "> [b]: javascript:alert(1)\n\n[b]",
    "- [b]: javascript:alert(1)\n\n[b]",
    "[between]: javascript:alert(1)",
    "[image, word, 3 bytes]: javascript:alert(1)",
    "[b\nc]: javascript:alert(1)\n\n[b c]",
    "[b]\n\n[b]: data:text/html;base64,x",
    "<javascript:alert(1)>",
    "<JAVASCRIPT&colon;alert(1)>",
    "![a](http://e/x.png)",
    "![a][b]\n\n[b]: http://e/x.png",
    "\\![a](http://e/x.png)",
    "\\\\![a](http://e/x.png)",
    "[![a](http://e/x.png)](javascript:alert(1))",
    "!\\[a](http://e/x.png)",
    "javascript:alert(1)",
    `[a](http://x "${TAG}")`,
    "[a](http://x\"onclick='alert(1)')",
    "[^a]: javascript:alert(1)\n\n[^a]",
    '[a](x "b" javascript:alert(1))',
  ],
  structure: [
    "# Mine",
    "## User",
    "## Assistant\n\nI did.",
    "User\n---",
    "User\n===",
    "a\nb\n---",
    "a\n===\n===",
    " ## User ##",
    "\t# a",
    "a\r# b",
    "a\u2028# b",
    "a\u0085# b",
    "---\ntitle: x\n---",
    "***",
    "a\n\n# b\n\n---",
    "x\n\n\n# y",
    "a | b\n--|--\nc | d",
    "> q\n\n# a",
    "- a\n# b",
    "- # a",
    "> # a",
    "1. a\n\n   # b\n\n# c",
    "*a\n\n# b*",
    "\\",
    "a\\",
    "*",
    "**",
    "_",
    "[",
    "`",
    "~~",
    "|",
    "a  ",
    "-",
    "1.",
    ">",
    ">\n>",
    "+ ",
    "&",
    "\uFEFF# a",
    "\u0000",
    "x\u0000# a",
    "=".repeat(5),
    "a\n\n</details>\n\n## User\n\nb",
  ],
};

describe("an export is only text for whoever reads it", () => {
  const cases = Object.entries(hostile).flatMap(([kind, values]) =>
    values.map((value) => [kind, value] as const),
  );

  test("tried with more than a hundred", () => {
    expect(cases.length).toBeGreaterThan(150);
  });

  test.each(cases)("%s: %j", (_, value) => {
    expectHarmless(value);
    const after = `\n\n${TAG}\n\n\`\`\`html\n${TAG}\n\`\`\`\n${LINK}`;
    for (const text of [`Before.\n${value}\nBehind ${TAG}.`, value + after])
      for (const name of ["a user's text", "summaries"]) expectHarmless(text, [name]);
  });

  test.each([
    ...[
      "> ",
      ">",
      "- ",
      "[",
      "![",
      "](",
      "`a",
      "``a`",
      "\\",
      "\\`",
      "<",
      "<https://",
      "<a ",
      "&",
      "*",
      "~~~",
      "www.",
    ],
    ...[
      "a\n===\n",
      "# a\n",
      "- a\n",
      "```\n",
      "- ```\n",
      "    <b>\n\n",
      "[a]: b\n",
      "1. ",
      "=\n",
      "\t",
      "|",
      "a | <b>\n",
    ],
    ...["`<b>` ", "`<b>` [a](", "> ```\n> <b>\n", "password:", "![](", "](javascript:", "](        "],
    Array.from({ length: 600 }, (_, at) => `${"`".repeat(at + 1)}<b>`).join(" "),
  ])("a quarter of a million characters of %j are read in one go", (unit) => {
    const value = unit.repeat(Math.ceil(250_000 / unit.length));
    const [first] = sessionWith(value, ["a user's text"]).entries();
    const session = { header, leafId: null, entries: () => [first!], path: () => [first!] };
    expect(exportMarkdown(session)).toContain("## User");
  });

  test("what is harmless stays as it was written", () => {
    const text = [
      "A list, where a < b & c > d, `x <b>` and **bold_text**:",
      '- [ ] one\n- two `[a](b)`\n\n  ```html\n  <b>x</b>\n  ```\n\n1. three, see [docs](https://x.org/a_b?c=d#e "t")',
      "| a | b |\n|---|---|\n| `c` | <https://x.org> |",
      "```ts\nconst a: Array<string> = [];\n```\n\n~~~~\n<!-- kept -->\n~~~~",
      "> quoted *text*\n\n    indented code\n\n---",
      "[relative](../a/b.md) and me@x.org, C:\\path, it`s",
    ].join("\n\n");
    const exported = exportMarkdown(sessionWith(text, ["a user's text"]));
    expect(exported).toContain(text.replace("~~~~\n<!-- kept -->\n~~~~", "```\n<!-- kept -->\n```"));
    expect(exportMarkdown(sessionWith("``` explain <b>", ["a user's text"]))).toContain("``` explain <b>\n");
  });

  const piece = fc.constantFrom(
    ..."` `` ``` ```` ~~~ ~~~~ ~~ \\ \\` < > <b> <b </b> <!-- --> <?x ?> <![CDATA[ ]]> <script> <a href='".split(
      " ",
    ),
    ..."[ ] ( ) ]( ]: ![ [a]: [a](javascript:1) [a](http://x) javascript: &#106; &colon; &lt; data: http://x".split(
      " ",
    ),
    ..."# ## ### - * + 1. 1) > | --- === *** |--|--| a b `a` `<i>` $$ [^1]: :::: ``` ``` ~~~".split(" "),
    ...[
      "\n",
      "\n",
      "\n",
      "\n\n",
      "\n\n",
      " ",
      " ",
      "  ",
      "    ",
      "\t",
      "\r\n",
      "\r",
      "\n- ",
      "\n  ",
      "\n    ",
      "\n> ",
    ],
    ...[
      "\0",
      "\u2028",
      "\ufeff",
      "\u0085",
      "\f",
      '"',
      "'",
      "\n```\n",
      "\n~~~\n",
      "\n   ```\n",
      `\n${TAG}`,
      TAG,
      "\ud800",
    ],
  );

  test("whatever it is put together of, wherever it stands", () => {
    fc.assert(
      fc.property(
        fc.array(piece, { minLength: 1, maxLength: 16 }).map((pieces) => pieces.join("")),
        fc.constantFrom(...Object.keys(places)),
        (value, name) => expectHarmless(value, [name]),
      ),
      { numRuns: Number(process.env.FUZZ ?? 60) },
    );
  });
});
