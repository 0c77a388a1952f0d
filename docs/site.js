// The playground's frame has the site's colours, also if they are not the system's.
const frame = document.querySelector(".demo iframe");
const follow = () => {
  const root = frame.contentDocument?.documentElement;
  if (root) root.dataset.scheme = document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
};
if (frame) {
  frame.addEventListener("load", follow);
  new MutationObserver(follow).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
  follow();
}
