export type SignName = "window" | "threshold" | "compaction" | "undone" | "mask" | "overflow" | "dollars";

/** A sign of the legend, drawn as on the chart: a font may lack it. */
export function Sign({ name }: { name: SignName }) {
  const { colour, path, isFilled = false, dash } = signs[name];
  const style = { stroke: `var(${colour})`, fill: isFilled ? `var(${colour})` : "none" };
  return (
    <svg class="sign" viewBox="0 0 16 12" width="16" height="12" aria-hidden="true" style={style}>
      <path d={path} stroke-dasharray={dash} />
    </svg>
  );
}

interface SignShape {
  colour: string;
  path: string;
  isFilled?: boolean;
  dash?: string;
}

const LINE = "M0 6H16";
const TRIANGLE = "M3 1.5H13L8 11Z";

const signs: Readonly<Record<SignName, SignShape>> = {
  window: { colour: "--bad", path: LINE },
  threshold: { colour: "--warn", path: LINE, dash: "5 3" },
  compaction: { colour: "--mark-compaction", path: TRIANGLE, isFilled: true },
  undone: { colour: "--mark-compaction", path: TRIANGLE },
  mask: { colour: "--mark-mask", path: "M4 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0" },
  overflow: { colour: "--bad", path: "M3 1L13 11M13 1L3 11" },
  dollars: { colour: "--accent", path: "M0 11L16 1" },
};
