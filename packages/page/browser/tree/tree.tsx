import { counted } from "@bonsai-agent/messages/numbers";
import { useEffect, useRef } from "preact/hooks";
import { address, linkTo } from "../address.ts";
import { page } from "../page-store.ts";
import { hereRow, kindName, kindOf, labelOf } from "../session-tree.ts";
import { type ListControl, VirtualList } from "../virtual-list.tsx";
import { type Filter, filter, filters, type OutlineLine, outline, wanted } from "./outline.ts";

/** The branches as a drawing. @param isBeside true beside the transcript: narrow, without links to compare */
export function Tree({ isBeside = false }: { isBeside?: boolean }) {
  const control = useRef<ListControl | null>(null);
  const lines = outline.value;
  const to = address.value;
  const shown = to.view === "entry" ? to.id : undefined;
  useEffect(() => {
    const at = lines.findIndex(({ row }) => page.peek()!.rows.ids[row] === shown);
    if (at >= 0 && isBeside) control.current?.scrollTo(Math.max(0, at - 3));
  }, [shown]);
  return (
    <section
      class="tree"
      aria-label={isBeside ? "Tree beside the transcript" : "Tree"}
      onKeyDown={(event) => {
        if (event.key === "ArrowDown") stepFocus(event, 1);
        if (event.key === "ArrowUp") stepFocus(event, -1);
      }}
    >
      <div class="tools">
        <select
          aria-label="Show"
          value={filter.value}
          onChange={(event) => {
            filter.value = event.currentTarget.value as Filter;
          }}
        >
          {filters.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <input
          type="search"
          aria-label="Search"
          placeholder="Search"
          value={wanted.value}
          autocomplete="off"
          onInput={(event) => {
            wanted.value = event.currentTarget.value;
          }}
        />
        <output class="quiet">{counted(lines.length, "entry", "entries")}</output>
      </div>
      <VirtualList
        label="Branches"
        count={lines.length}
        keyOf={(index) => lines[index]!.row}
        estimate={() => LINE_PIXELS}
        render={(index) => <Line line={lines[index]!} isBeside={isBeside} isShown={shown} />}
        control={control}
      />
      {lines.length === 0 && <p class="quiet">No matches.</p>}
    </section>
  );
}

/** From the link of a line to that of the next. */
function stepFocus(event: KeyboardEvent, by: 1 | -1): void {
  const item = (event.target as HTMLElement).closest("li");
  const other = by > 0 ? item?.nextElementSibling : item?.previousElementSibling;
  const link = other?.querySelector<HTMLElement>(".to");
  if (link === null || link === undefined) return;
  event.preventDefault();
  link.focus();
}

const LINE_PIXELS = 30;
const LANE_PIXELS = 14;

function Line({
  line,
  isBeside,
  isShown,
}: {
  line: OutlineLine;
  isBeside: boolean;
  isShown: string | undefined;
}) {
  const { row, isActive } = line;
  const { ids, previews } = page.value!.rows;
  const id = ids[row]!;
  const label = labelOf.value.get(row);
  const kind = kindOf(row);
  return (
    <div class={`line${isActive ? " active" : ""}`}>
      <Lanes line={line} />
      <a
        href={linkTo({ view: "entry", id })}
        aria-current={id === isShown ? "true" : undefined}
        class={`to ${kind.replace(" ", "-")}`}
      >
        <span class="kind">{kindName(row)}</span> {row === hereRow.value && <span class="label">here</span>}{" "}
        {label !== undefined && <span class="label">{label}</span>}{" "}
        <span class="preview">{previews[row]}</span>
        {isActive && <span class="hidden"> (on this branch)</span>}
      </a>
      {!isBeside && page.value!.compared.includes(row) && (
        <a class="choose" href={linkTo({ view: "compare", id })}>
          Compare
        </a>
      )}
    </div>
  );
}

function Lanes({ line }: { line: OutlineLine }) {
  const { lane, lanes, from, isFirst, isLast } = line;
  const width = (Math.max(...lanes, lane) + 1) * LANE_PIXELS;
  const x = (at: number) => at * LANE_PIXELS + LANE_PIXELS / 2;
  const middle = LINE_PIXELS / 2;
  return (
    <svg width={width} height={LINE_PIXELS} aria-hidden="true">
      {lanes.map((at) =>
        at === lane && from !== undefined ? null : (
          <line
            key={at}
            x1={x(at)}
            x2={x(at)}
            y1={at === lane && isFirst ? middle : 0}
            y2={at === lane && isLast ? middle : LINE_PIXELS}
          />
        ),
      )}
      {from !== undefined && (
        <path
          d={`M${x(from)} 0 Q${x(from)} ${middle} ${x(lane)} ${middle} ${isLast ? "" : ` V${LINE_PIXELS}`}`}
        />
      )}
      <circle cx={x(lane)} cy={middle} r={4} />
    </svg>
  );
}
