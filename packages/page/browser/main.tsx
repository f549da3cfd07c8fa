import "./page.css";
import "./transcript/transcript.css";
import "./tree/tree.css";
import "./context/context.css";
import "./compaction/compaction.css";
import "./compare/compare.css";
import "@preact/signals";
import { render } from "preact";
import { App } from "./app.tsx";
import { loadPage } from "./page-store.ts";

const root = document.getElementById("page")!;

void loadPage().then(() => {
  root.replaceChildren();
  render(<App />, root);
});
