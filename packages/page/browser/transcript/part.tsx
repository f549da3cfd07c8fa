import { bytes, counted, lineText } from "@bonsai-agent/messages/numbers";
import { effect } from "@preact/signals";
import { useState } from "preact/hooks";
import { type BodyPart, isPicture } from "../../src/page-data.ts";
import { Code, Diff } from "../code.tsx";
import { PlainText, TextInLine, useLineCount } from "../long-text.tsx";
import { Markdown } from "../markdown.tsx";
import { generation } from "../page-store.ts";

/** A shorter output needs no fold. */
const SHORT_CHARS = 240;
const FIRST_LINE_CHARS = 120;

interface PartProps<Type extends BodyPart["type"] = BodyPart["type"]> {
  part: BodyPart & { type: Type };
  /** Stable name of the part. */
  name: string;
  /** True if a hit was found in the entry: folded parts are open, and long texts show more. */
  isOpen: boolean;
}

/** A part of an entry. */
export function Part({ part, name, isOpen }: PartProps) {
  switch (part.type) {
    case "markdown":
      return <Markdown text={part.text} isOpen={isOpen} />;
    case "text":
      return <PlainText text={part.text} isOpen={isOpen} />;
    case "thinking":
      return (
        <Folded title="Thinking" name={name} isOpen={isOpen} kind="thinking">
          <Markdown text={part.text} isOpen={isOpen} />
        </Folded>
      );
    case "image":
      return <Picture {...part} />;
    case "call":
      return <Call part={part} name={name} isOpen={isOpen} />;
    case "output":
      return <Output part={part} name={name} isOpen={isOpen} />;
    case "error":
      return (
        <p class="failed">
          <TextInLine text={part.text} isOpen={isOpen} />
        </p>
      );
    case "facts":
      return <Facts rows={part.rows} isOpen={isOpen} />;
  }
}

interface FactsProps {
  rows: ReadonlyArray<readonly [string, string]>;
  /** As for a part. Default: false */
  isOpen?: boolean;
}

export function Facts({ rows, isOpen = false }: FactsProps) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <TextInLine text={value} isOpen={isOpen} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface FoldedProps {
  title: preact.ComponentChildren;
  name: string;
  isOpen: boolean;
  kind: string;
  children: preact.ComponentChildren;
}

/** Opened and closed folds by entry and part; they keep their state while scrolled away. */
const folds = new Map<string, boolean>();
effect(() => {
  generation.value;
  folds.clear();
});

/** Drawn when it is opened: a long session has thousands of them. */
export function Folded({ title, name, isOpen, kind, children }: FoldedProps) {
  const [isUnfolded, unfold] = useState(folds.get(name) ?? isOpen);
  const isShown = isOpen || isUnfolded;
  return (
    <details
      class={kind}
      open={isShown}
      onToggle={({ currentTarget: { open } }) => {
        // A search opens folds without the reader.
        if (open === isShown) return;
        folds.set(name, open);
        unfold(open);
      }}
    >
      <summary>{title}</summary>
      {isShown && children}
    </details>
  );
}

function Call({ part, name: fold, isOpen }: PartProps<"call">) {
  const { name, title, arguments: args, code, diff } = part;
  const rest = title.startsWith(`${name} `) ? title.slice(name.length + 1) : title === name ? "" : title;
  return (
    <Folded
      kind="call"
      name={fold}
      isOpen={isOpen}
      title={
        <>
          <b>{name}</b> {rest}
        </>
      }
    >
      {diff !== undefined && <Diff part={diff} isOpen={isOpen} />}
      {code !== undefined && (
        <Code text={code.text} language={code.language ?? ""} label={code.path || name} isOpen={isOpen} />
      )}
      {args !== "" && <Code text={args} language="json" label={`Arguments of ${name}`} isOpen={isOpen} />}
    </Folded>
  );
}

function Output({ part, name, isOpen }: PartProps<"output">) {
  const { call, text, isError, language, diff } = part;
  const lines = useLineCount(text);
  const shown = (
    <>
      {diff !== undefined && <Diff part={diff} isOpen={isOpen} />}
      {text !== "" && <Code text={text} language={language ?? ""} label="Output" isOpen={isOpen} />}
    </>
  );
  const asked = call !== undefined && call !== "" && <span class="asked">{call} </span>;
  if (diff === undefined && text.length <= SHORT_CHARS && !text.includes("\n"))
    return (
      <div class="short">
        {asked}
        {text === "" ? (
          <p class="quiet">No output.</p>
        ) : (
          <pre class={isError ? "plain failed" : "plain"}>{text}</pre>
        )}
      </div>
    );
  const first = lineText([{ text: text.trimStart().split("\n", 1)[0]! }], FIRST_LINE_CHARS);
  return (
    <Folded
      kind={isError ? "output failed" : "output"}
      name={name}
      isOpen={isOpen}
      title={
        <>
          {isError && <b>Failed </b>}
          {asked}
          <span class="first">{first}</span> <span class="quiet">{counted(lines, "line")}</span>
        </>
      }
    >
      {shown}
    </Folded>
  );
}

function Picture(block: { type: "image"; mimeType: string; data: string }) {
  const { mimeType, data } = block;
  const size = bytes((data.length * 3) / 4);
  if (!isPicture(block)) return <p class="quiet">Image not shown ({size}).</p>;
  return <img src={`data:${mimeType};base64,${data}`} alt={`Attached image, ${size}`} loading="lazy" />;
}
