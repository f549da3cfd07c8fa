import { emptyUsage } from "@bonsai-agent/messages";
import type { Entry, SessionHeader } from "@bonsai-agent/session";
import { exportMarkdown } from "@bonsai-agent/transcripts";
import { HtmlRenderer, Parser } from "commonmark";
import MarkdownIt from "markdown-it";
import { Marked } from "marked";
import { type DefaultTreeAdapterTypes, parse } from "parse5";
import { expect } from "vitest";
import type { ExportedSession } from "../src/export-markdown.ts";

// Readers of Markdown that differ in their grammar, each with HTML on: by CommonMark, by GitHub's, and with all of
// GitHub's by patterns.
export const strict = { parser: new Parser(), renderer: new HtmlRenderer({ safe: false }) };

// A renderer that judges addresses would hide what it was given.
export const broad = Object.assign(
  new MarkdownIt("default", { html: true, linkify: true, typographer: true }),
  { validateLink: () => true },
);

export const patterns = new Marked({ gfm: true });

export const readers: Record<string, (text: string) => string> = {
  commonmark: (text) => strict.renderer.render(strict.parser.parse(text)),
  "markdown-it": (text) => broad.render(text),
  marked: (text) => patterns.parse(text, { async: false }),
};

type Node = DefaultTreeAdapterTypes.ChildNode;
type Element = DefaultTreeAdapterTypes.Element;

/** The body of a page, as a browser parses it. */
export function bodyOf(html: string): Element {
  const page = parse(`<body>${html}</body>`).childNodes.find((node) => node.nodeName === "html") as Element;
  return page.childNodes.find((node) => node.nodeName === "body") as Element;
}

const isElement = (node: Node): node is Element => "tagName" in node;

function* elementsIn(element: Element): Generator<Element> {
  const inner =
    element.nodeName === "template" ? (element as DefaultTreeAdapterTypes.Template).content : element;
  for (const child of inner.childNodes.filter(isElement)) {
    yield child;
    yield* elementsIn(child);
  }
}

function textOf(node: Node): string {
  if ("value" in node) return node.value;
  return "childNodes" in node ? node.childNodes.map(textOf).join("") : "";
}

export const elements = new Set(
  "h1 h2 h3 h4 h5 h6 p ul ol li blockquote pre code em strong a hr br table thead tbody tr th td del s details summary sub input".split(
    " ",
  ),
);

export const attributes = new Set("href title class start align style type disabled checked".split(" "));

/** Elements, attributes and addresses of a page that no export may contain. */
export function live(body: Element): string[] {
  return [...elementsIn(body)].flatMap(({ tagName: tag, attrs }) => {
    const found = elements.has(tag) ? [] : [`<${tag}>`];
    const isBox = attrs.some(({ name, value }) => name === "type" && value === "checkbox");
    if (tag === "input" && !isBox) found.push("<input>");
    for (const { name, value } of attrs) {
      if (!attributes.has(name)) found.push(`${tag} ${name}`);
      if (name === "style" && !/^text-align: ?\w+$/.test(value)) found.push(`${tag} style`);
      if (name === "href" && !harmless(value)) found.push(`href ${value}`);
    }
    return found;
  });
}

/** As a browser reads an address: without controls and white space. */
export function harmless(address: string): boolean {
  const read = address.replaceAll(/[\0-\x20]/g, "");
  return /^(?:https?|mailto|ftp):/i.test(read) || !/^[a-z][a-z0-9+.-]*:/i.test(read);
}

/** The document's own structure: its titles and what it folds. */
export function skeleton(body: Element): string[] {
  const own = body.childNodes.filter(isElement).filter(({ tagName }) => /^(?:h1|h2|details)$/.test(tagName));
  const titles = own.map((element) =>
    element.tagName === "h2" ? `h2 ${textOf(element).trim()}` : element.tagName,
  );
  const names = [...elementsIn(body)].map(({ tagName }) => tagName);
  const countOf = (tag: string) => names.filter((name) => name === tag).length;
  return [...titles, `${countOf("details")} folds`, `${countOf("sub")} places`];
}

export const place = { timestamp: "2026-01-02T03:04:05.000Z" };

export const header: SessionHeader = { type: "session", version: 3, id: "s1", cwd: "/a", ...place };

export type Fields = Record<string, unknown>;

export const message = (fields: Fields): Fields => ({
  type: "message",
  message: { timestamp: 0, ...fields },
});

export const answer = (content: object[], more: Fields = {}): Fields =>
  message({
    role: "assistant",
    content,
    provider: "p",
    model: "m",
    usage: emptyUsage(),
    stopReason: "stop",
    ...more,
  });

export const text = (value: string) => ({ type: "text", text: value });

export const image = (mimeType: string) => ({ type: "image", mimeType, data: "AAAA" });

export const long = "long ".repeat(40);

/** Places of foreign text in an export. */
export const places: Record<string, (text: string) => { header?: Fields; entries?: Fields[] }> = {
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
export function sessionWith(value: string, names = Object.keys(places)): ExportedSession {
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

export const skeletons = new Map<string, string[]>();

/** The structure of the same session with a harmless word in those places. */
export function expectedSkeleton(reader: string, names: string[] | undefined): string[] {
  const key = `${reader} ${names?.join()}`;
  const known =
    skeletons.get(key) ?? skeleton(bodyOf(readers[reader]!(exportMarkdown(sessionWith("word", names)))));
  skeletons.set(key, known);
  return known;
}

/** Asserts that a text is only text for every reader, wherever it stands. */
export function expectHarmless(value: string, names?: string[]): void {
  const exported = exportMarkdown(sessionWith(value, names));
  for (const [reader, render] of Object.entries(readers)) {
    const page = bodyOf(render(exported));
    const found = { live: live(page), skeleton: skeleton(page) };
    const expected = { live: [], skeleton: expectedSkeleton(reader, names) };
    expect(found, `${reader} of ${JSON.stringify(value)}`).toEqual(expected);
  }
}

export const TAG = "<img src=x onerror=alert(1)>";
