import { count, counted } from "@bonsai-agent/messages/numbers";
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Address, address, linkTo } from "./address.ts";
import { Compaction } from "./compaction/compaction.tsx";
import { Compare } from "./compare/compare.tsx";
import { Context } from "./context/context.tsx";
import { keys, showsKeys } from "./keyboard.ts";
import { connection, page } from "./page-store.ts";
import { timeText } from "./time.ts";
import { Transcript } from "./transcript/transcript.tsx";
import { Tree } from "./tree/tree.tsx";

/** The frame of the page: its head, the ways to its views, and the one that the address names. */
export function App() {
  useEffect(() => {
    setTimeout(() => {
      isPainted.value = true;
    }, AFTER_PAINT_MS);
  }, []);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // The link must not change the address.
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the session
      </a>
      <Head />
      <main id="main" tabIndex={-1}>
        <View />
      </main>
      {showsKeys.value && <Keys />}
    </>
  );
}

function Head() {
  const { session, rows, redacted } = page.value!;
  const facts = [
    session.program,
    session.cwd,
    timeText(Date.parse(session.startedAt) || 0),
    `${count(rows.ids.length)} entries`,
    session.costUsd === null && session.costText === "unknown" ? "cost unknown" : session.costText,
    redacted === 0 ? "" : `${counted(redacted, "secret")} redacted`,
  ].filter((fact) => fact !== "");
  return (
    <header class="page-head">
      <h1 title={session.title}>{session.title}</h1>
      <p class="quiet facts-line">{facts.join(" · ")}</p>
      <Connection />
      <nav aria-label="Views">
        <ViewLink to={{ view: "transcript" }} also="entry">
          Transcript
        </ViewLink>
        <ViewLink to={{ view: "tree" }}>Tree</ViewLink>
        <ViewLink to={{ view: "context" }}>Context</ViewLink>
        <ViewLink to={{ view: "compaction", id: "all" }}>Compactions</ViewLink>
        <ViewLink to={{ view: "compare" }}>Compare</ViewLink>
        <button
          type="button"
          aria-expanded={showsKeys.value}
          onClick={() => {
            showsKeys.value = !showsKeys.value;
          }}
        >
          Keys
        </button>
      </nav>
    </header>
  );
}

function ViewLink({ to, also, children }: { to: Address; also?: Address["view"]; children: string }) {
  const { view } = address.value;
  const isCurrent = view === to.view || view === also;
  return (
    <a href={linkTo(to)} aria-current={isCurrent ? "page" : undefined}>
      {children}
    </a>
  );
}

function Connection() {
  if (connection.value === "file") return null;
  return (
    <p class={`connection ${connection.value}`} role="status">
      {connections[connection.value]}
    </p>
  );
}

const connections = {
  live: "Live: this page follows the session",
  unread: "The session file cannot be read right now. This page shows its last state.",
  lost: "Live updates stopped: the program that served this page ended.",
} as const;

function Keys() {
  return (
    <aside class="keys" aria-label="Keys">
      <h2>Keys</h2>
      <dl>
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button
        type="button"
        onClick={() => {
          showsKeys.value = false;
        }}
      >
        Close
      </button>
    </aside>
  );
}

/** Milliseconds before the branches are drawn, so that the first entries appear sooner. */
const AFTER_PAINT_MS = 100;
const isPainted = signal(false);

function View() {
  switch (address.value.view) {
    case "tree":
      return <Tree />;
    case "context":
      return <Context />;
    case "compaction":
      return <Compaction />;
    case "compare":
      return <Compare />;
    default:
      return (
        <div class="beside">
          <aside class="side-tree" aria-label="Branches">
            {isPainted.value && <Tree isBeside />}
          </aside>
          <Transcript />
        </div>
      );
  }
}
