import { useEffect, useState } from "preact/hooks";
import type { BodyPart } from "../../src/page-data.ts";
import { Code, Diff } from "../code.tsx";
import { Markdown } from "../markdown.tsx";
import { digits } from "../numbers.ts";

/** So long a text of a tool is shown without being opened. */
const SHORT_CHARS = 240;

/** A part of an entry. @param isOpen true where folded parts are open: something in them is looked for */
export function Part({ part, isOpen }: { part: BodyPart; isOpen: boolean }) {
  switch (part.type) {
    case "markdown":
      return <Markdown text={part.text} />;
    case "text":
      return <pre class="plain">{part.text}</pre>;
    case "thinking":
      return (
        <Folded title="Thinking" isOpen={isOpen} kind="thinking">
          <Markdown text={part.text} />
        </Folded>
      );
    case "image":
      return <Picture mimeType={part.mimeType} data={part.data} />;
    case "call":
      return <Call part={part} isOpen={isOpen} />;
    case "output":
      return <Output part={part} isOpen={isOpen} />;
    case "error":
      return <p class="failed">{part.text}</p>;
    case "facts":
      return <Facts rows={part.rows} />;
  }
}

export function Facts({ rows }: { rows: ReadonlyArray<readonly [string, string]> }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface FoldedProps {
  title: preact.ComponentChildren;
  isOpen: boolean;
  kind: string;
  children: preact.ComponentChildren;
}

/** Drawn when it is opened: a long session has thousands of them. */
export function Folded({ title, isOpen, kind, children }: FoldedProps) {
  const [isUnfolded, unfold] = useState(isOpen);
  useEffect(() => {
    if (isOpen) unfold(true);
  }, [isOpen]);
  return (
    <details class={kind} open={isUnfolded} onToggle={(event) => unfold(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isUnfolded && children}
    </details>
  );
}

function Call({ part, isOpen }: { part: BodyPart & { type: "call" }; isOpen: boolean }) {
  const { name, title, arguments: args, code, diff } = part;
  const rest = title.startsWith(`${name} `) ? title.slice(name.length + 1) : title === name ? "" : title;
  return (
    <Folded
      kind="call"
      isOpen={isOpen}
      title={
        <>
          <b>{name}</b> {rest}
        </>
      }
    >
      {diff !== undefined && <Diff part={diff} />}
      {code !== undefined && (
        <Code text={code.text} language={code.language ?? ""} label={code.path || name} />
      )}
      {args !== "" && <Code text={args} language="json" label={`Arguments of ${name}`} />}
    </Folded>
  );
}

function Output({ part, isOpen }: { part: BodyPart & { type: "output" }; isOpen: boolean }) {
  const { text, isError, language, diff } = part;
  const shown = (
    <>
      {diff !== undefined && <Diff part={diff} />}
      {text !== "" && <Code text={text} language={language ?? ""} label="Output" />}
    </>
  );
  if (diff === undefined && text.length <= SHORT_CHARS && !text.includes("\n"))
    return text === "" ? (
      <p class="quiet">No output.</p>
    ) : (
      <pre class={isError ? "plain failed" : "plain"}>{text}</pre>
    );
  const lines = text.split("\n").length;
  const first = text.trimStart().split("\n", 1)[0]!.slice(0, 120);
  return (
    <Folded
      kind={isError ? "output failed" : "output"}
      isOpen={isOpen}
      title={
        <>
          {isError && <b>Failed </b>}
          <span class="first">{first}</span> <span class="quiet">{digits(lines)} lines</span>
        </>
      }
    >
      {shown}
    </Folded>
  );
}

const pictureTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Only pictures that are nothing else: a drawing in SVG could hold a program. */
function Picture({ mimeType, data }: { mimeType: string; data: string }) {
  const kilobytes = digits((data.length * 3) / 4 / 1000);
  if (!pictureTypes.includes(mimeType) || !base64.test(data))
    return <p class="quiet">An image ({kilobytes} kB) that is not shown.</p>;
  return <img src={`data:${mimeType};base64,${data}`} alt={`Attached, ${kilobytes} kB`} loading="lazy" />;
}
