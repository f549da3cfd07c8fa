import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSession, type Session } from "@bonsai-agent/session";

/** The script of each payload: a page that runs it is detected. */
const DEED = "window.ran=1;alert(1);fetch('https://foreign.example/')";
const HTML_DEED = DEED.replaceAll('"', "&quot;");

/** Payloads that try to be more than text, in each language that the page parses. */
const single: readonly string[] = [
  `<script>${DEED}</script>`,
  `</script><script>${DEED}</script>`,
  `</ScRiPt ><script>${DEED}//`,
  `<!--<script>${DEED}</script>`,
  `--><script>${DEED}</script>`,
  `]]><script>${DEED}</script>`,
  `</title></style></textarea></noscript><img src=x onerror="${HTML_DEED}">`,
  `<img src="https://foreign.example/pixel.png">`,
  `<svg onload="${HTML_DEED}"><animate onbegin="${HTML_DEED}" attributeName=x dur=1s></svg>`,
  `<math><mtext><table><mglyph><style><img src=x onerror="${HTML_DEED}">`,
  `<iframe srcdoc="<script>parent.ran=1</script>"></iframe><object data="javascript:${DEED}"></object>`,
  `<base href="https://foreign.example/"><meta http-equiv="refresh" content="0;url=https://foreign.example/">`,
  `<form action="https://foreign.example/" id="page"><input name="data" autofocus onfocus="${HTML_DEED}"></form>`,
  `<style>@import "https://foreign.example/a.css"; * { background: url(https://foreign.example/b.png) }</style>`,
  `<link rel=stylesheet href="https://foreign.example/c.css"><a href="javascript:${DEED}" autofocus>x</a>`,
  `<details open ontoggle="${HTML_DEED}"><summary>x</summary></details><video><source onerror="${HTML_DEED}"></video>`,
  `" onmouseover="${DEED}" autofocus onfocus="${DEED}" x="`,
  `' onpointerenter='${DEED}' style='background:url(https://foreign.example/d.png)`,
  `[x](javascript:${DEED.replaceAll("(", "%28").replaceAll(")", "%29")})`,
  `[x](java\tscript:alert%281%29) [y](&#106;avascript:alert%281%29) [z](JaVaScRiPt:alert%281%29)`,
  `[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==) [y](vbscript:x) [z](file:///etc/passwd)`,
  `![x](https://foreign.example/e.png) ![y](javascript:alert%281%29) ![z](data:image/svg+xml,%3Csvg%20onload=alert(1)%3E)`,
  `<javascript:alert(1)> <https://foreign.example/f> [r]: javascript:alert(1)\n\n[r]: javascript:alert(1)\n[r]`,
  `[x](https://foreign.example/ "\\" onmouseover=alert(1) ") <a name="page" id="data">`,
  `\`\`\`html"><script>${DEED}</script>\n<script>${DEED}</script>\n\`\`\``,
  `| a | <img src=x onerror="${HTML_DEED}"> |\n| --- | --- |\n| <b onclick="${HTML_DEED}">x</b> | y |`,
  `{{constructor.constructor('${DEED}')()}} \${${DEED}} <%= ${DEED} %> #{${DEED}}`,
  `__proto__`,
  `constructor`,
  `hasOwnProperty`,
  `\u202egnp.exe \u2066\u200b\u0000\u0007\u001b[31m\u001b]8;;https://foreign.example/\u0007x\ud800`,
  `../../../../etc/passwd`,
  `#/entry/<img src=x onerror=${DEED}>`,
  `data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+`,
  `image/png" onerror="${HTML_DEED}`,
  `image/svg+xml`,
  `text/html`,
  "x".repeat(2_000),
  `${"#".repeat(500)} ${"[".repeat(2000)}${">".repeat(500)}`,
];

/** Number of markup payloads in one text. */
const GROUP = 3;
/** Number of markup payloads, which are dangerous anywhere in a text. The others replace a whole field. */
const MARKUP = single.indexOf("__proto__");

/** The texts of the session: markup in groups, other payloads alone. */
const payloads: readonly string[] = [
  ...Array.from({ length: Math.ceil(MARKUP / GROUP) }, (_, group) =>
    single
      .slice(0, MARKUP)
      .slice(group * GROUP, (group + 1) * GROUP)
      .join("\n\n"),
  ),
  ...single.slice(MARKUP),
];

/** A session with a payload in every text field of every kind of entry. */
export function hostileSession(): Session {
  const writer = new HostileWriter();
  for (const payload of payloads) writer.addAll(payload);
  const file = join(mkdtempSync(join(tmpdir(), "hostile-")), "session.jsonl");
  writeFileSync(file, `${writer.lines.map((line) => JSON.stringify(line)).join("\n")}\n{"torn`);
  return openSession(file);
}

const usage = { input: 10, output: 5, cacheRead: 100, cacheWrite: 20, totalTokens: 135 };
const time = "2026-01-05T09:00:00.000Z";

class HostileWriter {
  readonly lines: object[] = [
    {
      type: "session",
      version: 3,
      id: payloads[0],
      timestamp: time,
      cwd: payloads[6],
      parentSession: payloads[16],
    },
  ];
  #last: string | null = null;

  addAll(p: string): void {
    const first = this.#add({ type: "session_info", name: p });
    const asked = this.#message({ role: "user", content: p });
    this.#message({ role: "user", content: [text(p), image(p, p), image("image/png", p), text(p)] });
    this.#answer(p);
    this.#message({
      role: "toolResult",
      toolCallId: p,
      toolName: p,
      isError: true,
      details: details(p),
      content: [text(p)],
    });
    this.#message({
      role: "bashExecution",
      command: p,
      output: p,
      exitCode: 1,
      cancelled: false,
      truncated: true,
    });
    this.#message({ role: "custom", customType: p, content: p, display: true });
    this.#message({ role: p, content: p });
    this.#add({ type: "custom_message", customType: p, content: p, display: true, details: { [p]: p } });
    this.#add({ type: "custom", customType: p, data: { [p]: [p] } });
    this.#add({ type: "custom", customType: "bonsai.pin", data: { text: p, id: p } });
    this.#add({ type: "label", targetId: asked, label: p });
    this.#add({ type: "model_change", provider: p, modelId: p });
    this.#add({ type: "thinking_level_change", thinkingLevel: p });
    this.#add({ type: "usage", kind: p, provider: p, model: p, usage });
    this.#add({ type: "context_edit", targetId: asked, replacement: { content: p } });
    this.#add({ type: p, [p]: p });
    this.#add({
      type: "branch_summary",
      summary: p,
      fromId: first,
      details: { readFiles: [p], [p]: p },
      fromHook: true,
    });
    this.#add({
      type: "compaction",
      summary: `## ${p}\n- ${p}`,
      firstKeptEntryId: asked,
      tokensBefore: 1000,
      usage,
      details: { readFiles: [p], modifiedFiles: [p], bonsai: { reason: p, model: p, words: [p] }, [p]: p },
    });
    this.#message({ role: "user", content: p });
    this.#answer(p, "error");
  }

  #answer(p: string, stopReason = "toolUse"): void {
    const args = { path: p, oldText: p, newText: `${p}\n`, command: p, [p]: { [p]: p } };
    const content = [
      { type: "thinking", thinking: p, thinkingSignature: p },
      text(p),
      { type: "toolCall", id: p, name: p, arguments: args },
      { type: "toolCall", id: `${p} 2`, name: "write", arguments: { path: `${p}.html`, content: p } },
      { type: p, [p]: p },
    ];
    this.#message({
      role: "assistant",
      content,
      api: p,
      provider: p,
      model: p,
      usage,
      stopReason,
      errorMessage: p,
    });
  }

  #message(message: object): string {
    return this.#add({ type: "message", message: { timestamp: 0, ...message } });
  }

  /** The payload is part of the id too. */
  #add(entry: { type: string } & Record<string, unknown>): string {
    const about = Object.values(entry).find((value) => typeof value === "string" && payloads.includes(value));
    const id = `${String(about ?? "").slice(0, 200)}${this.lines.length}`;
    this.lines.push({ ...entry, id, parentId: this.#last, timestamp: time });
    this.#last = id;
    return id;
  }
}

function text(said: string): object {
  return { type: "text", text: said };
}

function image(mimeType: string, data: string): object {
  return { type: "image", mimeType, data };
}

function details(p: string): object {
  return { path: p, diff: `--- ${p}\n+++ ${p}\n@@ -1 +1 @@\n-${p}\n+${p}`, [p]: p };
}
