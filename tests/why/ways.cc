// Blocked operations in C++. Usage: ways NAME OBJECT. The line that makes one carries HERE and the way's name.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

static std::string object;

namespace job {

struct Reader {
	virtual ~Reader() = default;
	KEEP int member(const char *path) const
	{
		return open(path, O_RDONLY) + 1; // HERE member
	}
	KEEP virtual int overridden(const char *)
	{
		return 0;
	}
	KEEP int operator()(const std::string &path) const
	{
		return open(path.c_str(), O_RDONLY) + 1; // HERE call_operator
	}
	KEEP static int fixed(const char *path)
	{
		return open(path, O_RDONLY) + 1; // HERE static_member
	}
};

struct Special : Reader {
	KEEP int overridden(const char *path) override
	{
		return open(path, O_RDONLY) + 1; // HERE virtual_member
	}
};

template <typename Path, int Flags>
struct Opener {
	Path path;
	KEEP int run() const
	{
		return open(path.c_str(), Flags) + 1; // HERE template_member
	}
};

template <typename Path>
KEEP int open_any(const Path &path)
{
	return open(path.c_str(), O_RDONLY) + 1; // HERE template_function
}

struct Unlinks {
	KEEP ~Unlinks()
	{
		unlink(object.c_str()); // HERE destructor
	}
};

} // namespace job

namespace {
KEEP int unnamed(const std::string &path)
{
	return open(path.c_str(), O_RDONLY) + 1; // HERE unnamed_namespace
}
} // namespace

KEEP int throws()
{
	throw std::runtime_error("on purpose");
}

KEEP int catches()
{
	try {
		return throws();
	} catch (const std::exception &error) {
		return open(object.c_str(), O_RDONLY) + 1; // HERE catches
	}
}

KEEP int unwinds()
{
	try {
		job::Unlinks guard;
		return throws();
	} catch (const std::exception &error) {
		return 1;
	}
}

KEEP int stream()
{
	std::ifstream file(object); // HERE stream
	return file.good() ? 1 : 2;
}

KEEP int makes_folder()
{
	std::error_code error;
	return std::filesystem::create_directory(object, error) ? 1 : 2; // HERE makes_folder
}

KEEP int sorts()
{
	std::vector<int> items{ 2, 1 };
	std::sort(items.begin(), items.end(), [](int left, int right) {
		return open(object.c_str(), O_RDONLY) + left < right; // HERE sorts
	});
	return items[0];
}

KEEP int in_thread()
{
	std::thread worker([] {
		int fd = open(object.c_str(), O_RDONLY); // HERE in_thread
		close(fd);
	});
	worker.join();
	return 1;
}

KEEP int later()
{
	auto result = std::async(std::launch::async, [](const std::string &path) {
		return chmod(path.c_str(), 0600) + 1; // HERE later
	}, object);
	return result.get();
}

KEEP int function_object()
{
	std::function<int()> call = [] {
		return open(object.c_str(), O_RDONLY) + 1; // HERE function_object
	};
	return call() + 1;
}

// Runs before main: the object is the second word of the command line.
struct Early {
	KEEP Early()
	{
		char words[4096] = "";
		int fd = open("/proc/self/cmdline", O_RDONLY);
		ssize_t length = read(fd, words, sizeof(words) - 1);
		close(fd);
		const char *name = words + strlen(words) + 1;
		if (length > 0 && std::string(name) == "constructor")
			open(name + strlen(name) + 1, O_RDONLY); // HERE constructor
	}
};
static Early early;

int main(int argc, char **argv)
{
	const job::Reader reader;
	const std::map<std::string, std::function<int()>> ways{
		{ "member", [&] { return reader.member(object.c_str()) + 1; } },
		{ "static_member", [] { return job::Reader::fixed(object.c_str()) + 1; } },
		{ "call_operator", [&] { return reader(object) + 1; } },
		{ "virtual_member", [] { return std::unique_ptr<job::Reader>(new job::Special)->overridden(object.c_str()) + 1; } },
		{ "template_member", [] { return job::Opener<std::string, O_RDONLY>{ object }.run() + 1; } },
		{ "template_function", [] { return job::open_any(object) + 1; } },
		{ "unnamed_namespace", [] { return unnamed(object) + 1; } },
		{ "catches", catches }, { "destructor", unwinds }, { "stream", stream }, { "makes_folder", makes_folder },
		{ "sorts", sorts }, { "in_thread", in_thread }, { "later", later }, { "function_object", function_object },
	};
	if (argc < 3 || ways.count(argv[1]) == 0)
		return 2;
	object = argv[2];
	return ways.at(argv[1])() + 1;
}
