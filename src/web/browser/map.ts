/** The map of addresses. */
document.documentElement.classList.add("has-script");
