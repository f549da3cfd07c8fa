import "./page.css";
import "./transcript/transcript.css";
import "./tree/tree.css";
import "./context/context.css";
import "./compaction/compaction.css";
import "./compare/compare.css";
import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app.tsx";
import { listenToKeys } from "./keyboard.ts";
import { generation, loadPage, page } from "./page-store.ts";

/** Nothing that was opened, chosen or read of one session is there for another. */
function Page() {
  return <App key={generation.value} />;
}

/** As it is called now: a session that is followed may get a name, or be another one. */
effect(() => {
  const title = page.value?.session.title;
  if (title !== undefined) document.title = title;
});

const root = document.getElementById("page")!;

loadPage().then(
  () => {
    root.replaceChildren();
    listenToKeys();
    render(<Page />, root);
  },
  (error: unknown) => {
    root.textContent = `This page is damaged and cannot be shown. ${String(error)}`;
  },
);
