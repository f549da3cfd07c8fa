import { address, linkTo } from "./address.ts";
import { Compaction } from "./compaction/compaction.tsx";
import { Compare } from "./compare/compare.tsx";
import { Context } from "./context/context.tsx";
import { page } from "./page-store.ts";
import { Transcript } from "./transcript/transcript.tsx";
import { Tree } from "./tree/tree.tsx";

/** The frame of the page: its head, the ways to its views, and the one that the address names. */
export function App() {
  const { session } = page.value!;
  return (
    <>
      <header>
        <h1>{session.name ?? "Session"}</h1>
        <nav aria-label="Views">
          <a href={linkTo({ view: "transcript" })}>Transcript</a>
          <a href={linkTo({ view: "tree" })}>Tree</a>
          <a href={linkTo({ view: "context" })}>Context</a>
          <a href={linkTo({ view: "compare" })}>Compare</a>
        </nav>
      </header>
      <main>
        <View />
      </main>
    </>
  );
}

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
      return <Transcript />;
  }
}
