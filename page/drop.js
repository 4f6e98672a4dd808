// Files that are dropped on a board.

let dropped = null;

/** Takes the files that are dropped on `node`; what lies elsewhere on the page is not opened by the browser either. */
export function takesDrops(node, take) {
  const over = (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    node.classList.toggle("over", event.type === "dragover");
  };
  for (const name of ["dragover", "dragleave"]) node.addEventListener(name, over);
  node.addEventListener("drop", (event) => {
    over(event);
    event.stopPropagation();
    const [file] = event.dataTransfer.files;
    if (file) take(file);
  });
}

/** Keeps a file for the view in which it is uploaded. */
export const keep = (file) => (dropped = file);

/** The file that was kept, once; null where none was. */
export function kept() {
  const file = dropped;
  dropped = null;
  return file;
}
