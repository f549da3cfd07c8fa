import "./page.css";
import "./transcript/transcript.css";
import "./tree/tree.css";
import "./context/context.css";
import "./compaction/compaction.css";
import "./compare/compare.css";
import "@preact/signals";
import { render } from "preact";
import { App } from "./app.tsx";
import { listenToKeys } from "./keyboard.ts";
import { loadPage } from "./page-store.ts";
import { drawForPrinting } from "./transcript/print.ts";

const root = document.getElementById("page")!;

loadPage().then(
  () => {
    root.replaceChildren();
    listenToKeys();
    drawForPrinting();
    render(<App />, root);
  },
  (error: unknown) => {
    root.textContent = `The page could not be read: ${String(error)}`;
  },
);
